"use strict";
// Small SVG charts: curves with spread and the value at the pointer, bars, stacked bars, lanes.

const svgNode = (name, attributes, parent) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (parent) parent.append(node);
  return node;
};
const htmlNode = (name, attributes, ...children) => {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  node.append(...children);
  return node;
};
// Same number of digits as number_text in report/numbers.cpp.
const shown = (v) => {
  if (!Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return v.toExponential(3);
  return size >= 999.95 ? v.toFixed(0) : v.toPrecision(4);
};
// Labels of an axis, without trailing zeros.
const tick = (v) => (Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(1) : String(+v.toPrecision(4)));
const ticksOf = (low, high, wanted) => {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  if (!(raw > 0) || !(power > 0) || !Number.isFinite(power)) return [];
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const all = [], first = Math.ceil(low / step);
  for (let i = 0; i < 20 && (first + i) * step <= high + step * 1e-9; ++i) all.push((first + i) * step);
  return all;
};
// Widens a range that is empty, or tiny compared to its ends.
const widened = (low, high) => {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low > size * 1e-9) return [low, high];
  const by = Math.max(0.5, size * 0.5);
  return [low - by, high + by];
};
// Explains the markers that a chart uses, followed by its note.
const hollow = ["emulated hosts", "oversubscribed"];
const noteOf = (chart, simulated) => {
  const kinds = new Set(chart.series.flatMap((s) => s.points.map((p) => p[4])));
  const qualified = hollow.filter((kind) => kinds.has(kind));
  const words = [...(qualified.length ? [`hollow: ${qualified.join(" or ")}`] : []), ...(kinds.has("simulated") ? [`${simulated}: simulated`] : []),
    ...(chart.note ? [chart.note] : [])];
  return words.length ? [htmlNode("div", { class: "quiet note" }, words.join("; "))] : [];
};
// Published series have the colour of the series that they follow.
const colour = (series, i, all = []) => {
  const ours = all.slice(0, i + 1).filter((s) => !s.published && !s.dashed).length;
  return `var(--c${series.dashed ? 6 : (ours ? ours - 1 : i) % 6})`;
};
const diamond = (x, y, stroke, svg) => svgNode("path", { d: `M${x} ${y - 5.5}L${x + 5.5} ${y}L${x} ${y + 5.5}L${x - 5.5} ${y}Z`, fill: "var(--ground)", stroke, "stroke-width": 1.5 }, svg);
// Marks of a logarithmic axis: 1, 2 and 5 per decade, or only some powers of ten.
const logTicks = (low, high) => {
  const first = Math.floor(Math.log10(low)), last = Math.log10(high), all = [];
  for (let e = first; e <= last; e += Math.ceil((last - first) / 8))
    for (const n of last - first > 4 ? [1] : [1, 2, 5]) if (n * 10 ** e >= low && n * 10 ** e <= high) all.push(n * 10 ** e);
  return all;
};

function frame(title) {
  const figure = htmlNode("figure", {}, htmlNode("figcaption", {}, title));
  const tip = htmlNode("div", { class: "tip", hidden: "" });
  figure.append(tip);
  return { figure, tip };
}

function legendOf(series, redraw) {
  const box = htmlNode("div", { class: "legend" });
  series.forEach((s, i) => {
    const swatch = htmlNode("i", {});
    if (s.published) swatch.style.cssText = `border: 1.5px solid ${colour(s, i, series)}; rotate: 45deg; background: none`;
    else swatch.style.background = colour(s, i, series);
    if (!redraw) {
      box.append(htmlNode("span", {}, swatch, " " + s.name));
      return;
    }
    const button = htmlNode("button", { "aria-pressed": "true", type: "button" }, swatch, s.name);
    button.onclick = () => {
      s.off = !s.off;
      button.setAttribute("aria-pressed", String(!s.off));
      redraw();
    };
    box.append(button);
  });
  return box;
}

// chart: {title, x, y, series: [{name, dashed, published, points: [[x, y, low, high, mark]]}], zero, log}
function lineChart(chart) {
  const width = 480, height = 280, left = 54, right = 12, top = 12, bottom = 40;
  const title = chart.y && chart.y !== chart.title ? `${chart.title}: ${chart.y}` : chart.title;
  const { figure, tip } = frame(title);
  const svg = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  figure.append(svg);
  let toX, fromX, visible;
  const draw = () => {
    svg.replaceChildren();
    visible = chart.series.filter((s) => !s.off && s.points.length);
    const points = visible.flatMap((s) => s.points);
    if (!points.length) return;
    const xs = points.map((p) => p[0]), ys = points.flatMap((p) => [p[1], p[2] ?? p[1], p[3] ?? p[1]]).filter(Number.isFinite);
    let x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
    const log = chart.log && y0 > 0;
    if (chart.zero && !log) y0 = Math.min(0, y0);
    [x0, x1] = widened(x0, x1);
    if (log) [y0, y1] = [y0 / 1.3, y1 * 1.3];
    else {
      [y0, y1] = widened(y0, y1);
      y1 += (y1 - y0) * 0.06;
    }
    toX = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - right);
    fromX = (v) => x0 + ((v - left) / (width - left - right)) * (x1 - x0);
    const share = (v) => (log ? (Math.log(v) - Math.log(y0)) / (Math.log(y1) - Math.log(y0)) : (v - y0) / (y1 - y0));
    const toY = (v) => height - bottom - share(v) * (height - top - bottom);
    for (const v of log ? logTicks(y0, y1) : ticksOf(y0, y1, 5)) {
      svgNode("line", { x1: left, x2: width - right, y1: toY(v), y2: toY(v), stroke: "var(--line)" }, svg);
      svgNode("text", { x: left - 7, y: toY(v) + 4, "text-anchor": "end" }, svg).textContent = tick(v);
    }
    const distinct = [...new Set(xs)].sort((a, b) => a - b);
    for (const v of distinct.length <= 8 ? distinct : ticksOf(x0, x1, 6))
      svgNode("text", { x: toX(v), y: height - bottom + 17, "text-anchor": "middle" }, svg).textContent = tick(v);
    svgNode("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, svg).textContent = chart.x;
    chart.series.forEach((s, i) => {
      if (s.off || !s.points.length) return;
      const path = s.points.filter((p) => Number.isFinite(p[1])).map((p, k) => `${k ? "L" : "M"}${toX(p[0]).toFixed(1)} ${toY(p[1]).toFixed(1)}`).join("");
      const ink = colour(s, i, chart.series);
      svgNode("path", { d: path, fill: "none", stroke: ink, "stroke-width": s.published ? 1.2 : 2, "stroke-dasharray": s.dashed ? "6 5" : s.published ? "2 3" : "none" }, svg);
      for (const p of s.points) {
        if (s.published) {
          diamond(toX(p[0]), toY(p[1]), ink, svg);
          continue;
        }
        if (p[3] > p[2]) svgNode("line", { x1: toX(p[0]), x2: toX(p[0]), y1: toY(p[2]), y2: toY(p[3]), stroke: ink, "stroke-width": 1.5 }, svg);
        if (!p[4] && s.points.length > 1) continue;
        const sign = p[4] === "simulated" ? svgNode("rect", { x: toX(p[0]) - 4, y: toY(p[1]) - 4, width: 8, height: 8 }, svg)
          : svgNode("circle", { cx: toX(p[0]), cy: toY(p[1]), r: 4.5 }, svg);
        sign.setAttribute("stroke", ink);
        sign.setAttribute("fill", hollow.includes(p[4]) ? "var(--ground)" : ink);
      }
    });
  };
  svg.onpointermove = (event) => {
    if (!toX) return;
    const box = svg.getBoundingClientRect(), at = fromX(((event.clientX - box.left) / box.width) * width);
    const near = visible.map((s) => [s, s.points.reduce((a, b) => (Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a))]);
    if (!near.length) return;
    const x = near.map(([, p]) => p[0]).reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));
    tip.replaceChildren(htmlNode("b", {}, `${chart.x} ${tick(x)}`));
    for (const [s, p] of near.filter(([, p]) => p[0] === x).slice(0, 12)) {
      const spread = p[3] > p[2] ? ` (${shown(p[2])} to ${shown(p[3])})` : "", mark = p[4] && p[4] !== "measured" ? `, ${p[4]}` : "";
      tip.append(htmlNode("div", {}, `${s.name}: ${shown(p[1])}${spread}${mark}`));
    }
    tip.hidden = false;
    const inside = figure.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - inside.left + 14, inside.width - tip.offsetWidth - 6)}px`;
    tip.style.top = `${event.clientY - inside.top + 14}px`;
  };
  svg.onpointerleave = () => { tip.hidden = true; };
  draw();
  if (chart.series.length <= 24) figure.append(legendOf(chart.series, draw));
  figure.append(...noteOf(chart, "squares"));
  return figure;
}

// chart: {title, parts: [name], rows: [{name, values}]}; values are fractions of 1
function stackedBars(chart) {
  const { figure, tip } = frame(chart.title);
  const each = 26, left = 250, width = 760, height = chart.rows.length * each + 8;
  const svg = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });
  chart.rows.forEach((row, i) => {
    const name = row.name.length > 40 ? row.name.slice(0, 19) + "…" + row.name.slice(-20) : row.name;  // the end names the kind
    svgNode("text", { x: left - 8, y: i * each + 19, "text-anchor": "end" }, svg).textContent = name;
    let at = left;
    row.values.forEach((value, k) => {
      const size = Math.max(0, value) * (width - left - 8);
      const bar = svgNode("rect", { x: at, y: i * each + 6, width: size, height: each - 8, fill: `var(--c${[0, 1, 4, 3][k]})` }, svg);
      bar.onpointermove = (event) => {
        tip.textContent = `${row.name}: ${chart.parts[k]} ${(value * 100).toFixed(1)}%`;
        tip.hidden = false;
        const box = figure.getBoundingClientRect();
        tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 6)}px`;
        tip.style.top = `${event.clientY - box.top + 12}px`;
      };
      bar.onpointerleave = () => { tip.hidden = true; };
      at += size;
    });
  });
  figure.append(svg);
  const legend = htmlNode("div", { class: "legend" });
  chart.parts.forEach((part, k) => {
    const swatch = htmlNode("i", {});
    swatch.style.background = `var(--c${[0, 1, 4, 3][k]})`;
    legend.append(htmlNode("span", {}, swatch, " " + part));
  });
  figure.append(legend);
  return figure;
}

// chart: {title, y, names: [point], series as in lineChart}; x is an index of names
function barChart(chart) {
  const { figure, tip } = frame(chart.title);
  const each = 20, left = 170, width = 480, count = chart.series.length, row = count * each + 10;
  const values = chart.series.flatMap((s) => s.points.flatMap((p) => [p[1], p[2] ?? p[1], p[3] ?? p[1]]));
  const most = Math.max(...values, 1e-30), lowest = Math.min(...values), log = chart.log && lowest > 0;
  // Bars begin at 0; where the axis does not, markers take their place.
  const start = log ? lowest / 1.3 : chart.zero ? 0 : lowest - (most - lowest) * 0.1, markers = !chart.zero;
  const height = chart.names.length * row + 20;
  const svg = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });
  const toX = (v) => left + Math.max(0, log ? (Math.log(v) - Math.log(start)) / (Math.log(most) - Math.log(start)) : (v - start) / (most - start || 1)) * (width - left - 64);
  chart.names.forEach((name, i) => {
    const text = name.length > 23 ? name.slice(0, 22) + "…" : name;
    svgNode("text", { x: left - 8, y: i * row + 18, "text-anchor": "end" }, svg).textContent = text;
  });
  chart.series.forEach((s, k) => {
    for (const p of s.points) {
      const top = p[0] * row + 5 + k * each;
      const ink = colour(s, k, chart.series);
      const bar = s.published ? diamond(toX(p[1]), top + 7, ink, svg)
        : markers ? svgNode(p[4] === "simulated" ? "rect" : "circle", { ...(p[4] === "simulated" ? { x: toX(p[1]) - 4, y: top + 3, width: 8, height: 8 } : { cx: toX(p[1]), cy: top + 7, r: 4.5 }),
          stroke: ink, fill: hollow.includes(p[4]) ? "var(--ground)" : ink }, svg)
        : svgNode("rect", { x: left, y: top, width: Math.max(1, toX(p[1]) - left), height: each - 5, stroke: ink, fill: ink,
          "fill-opacity": hollow.includes(p[4]) ? 0 : p[4] === "simulated" ? 0.35 : 1 }, svg);
      if (p[3] > p[2]) svgNode("line", { x1: toX(p[2]), x2: toX(p[3]), y1: top + 7, y2: top + 7, stroke: "var(--text)" }, svg);
      svgNode("text", { x: toX(Math.max(p[1], p[3] ?? p[1])) + (s.published || markers ? 10 : 6), y: top + 12 }, svg).textContent = shown(p[1]);
      bar.onpointermove = (event) => {
        const spread = p[3] > p[2] ? ` (${shown(p[2])} to ${shown(p[3])})` : "", mark = p[4] && p[4] !== "measured" ? `, ${p[4]}` : "";
        tip.textContent = `${chart.names[p[0]]}, ${s.name}: ${shown(p[1])}${spread}${mark}`;
        tip.hidden = false;
        const box = figure.getBoundingClientRect();
        tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 6)}px`;
        tip.style.top = `${event.clientY - box.top + 12}px`;
      };
      bar.onpointerleave = () => { tip.hidden = true; };
    }
  });
  svgNode("text", { x: left, y: height - 5 }, svg).textContent = chart.y;
  figure.append(svg);
  if (count > 1) figure.append(legendOf(chart.series, null));
  figure.append(...noteOf(chart, markers ? "squares" : "pale"));
  return figure;
}

// events: [rank, name, start ms, length ms]
function lanes(title, events) {
  const { figure, tip } = frame(title);
  const ranks = Math.max(...events.map((e) => e[0])) + 1, from = Math.min(...events.map((e) => e[2]));
  const until = Math.max(...events.map((e) => e[2] + e[3])), names = [...new Set(events.map((e) => e[1]))];
  const width = 960, left = 60, each = 30, height = ranks * each + 26;
  const svg = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const toX = (t) => left + ((t - from) / (until - from || 1)) * (width - left - 10);
  for (let r = 0; r < ranks; ++r) svgNode("text", { x: left - 8, y: r * each + 20, "text-anchor": "end" }, svg).textContent = `rank ${r}`;
  for (const [rank, name, start, length] of events) {
    const bar = svgNode("rect", { x: toX(start), y: rank * each + 4, width: Math.max(0.6, toX(start + length) - toX(start)), height: each - 8,
      fill: `var(--c${names.indexOf(name) % 7})` }, svg);
    bar.onpointermove = (event) => {
      tip.textContent = `rank ${rank}: ${name}, ${shown(length)} ms`;
      tip.hidden = false;
      const box = figure.getBoundingClientRect();
      tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 6)}px`;
      tip.style.top = `${event.clientY - box.top + 12}px`;
    };
    bar.onpointerleave = () => { tip.hidden = true; };
  }
  svgNode("text", { x: left, y: height - 4 }, svg).textContent = `${shown(until - from)} ms in total`;
  figure.append(svg);
  const legend = htmlNode("div", { class: "legend" });
  names.forEach((name, i) => {
    const swatch = htmlNode("i", {});
    swatch.style.background = `var(--c${i % 7})`;
    legend.append(htmlNode("span", {}, swatch, " " + name));
  });
  figure.append(legend);
  return figure;
}
