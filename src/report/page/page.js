"use strict";
const report = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
main.replaceChildren();
document.getElementById("title").textContent = report.title;
document.getElementById("subtitle").textContent = report.subtitle;

const numberIn = (text) => {
  const found = /^[-+]?[0-9][0-9,]*\.?[0-9]*(e[-+]?[0-9]+)?/i.exec(String(text).trim());
  return found ? parseFloat(found[0].replaceAll(",", "")) : NaN;
};

// A table that sorts by the column whose head is clicked: numbers as numbers, empty cells last.
function sortable(head, rows) {
  const table = htmlNode("table", {}), body = htmlNode("tbody", {}), titles = htmlNode("tr", {});
  const right = head.map((_, c) => rows.some((r) => r[c] !== "") && rows.every((r) => r[c] === "" || !Number.isNaN(numberIn(r[c]))));
  const order = rows.map((_, i) => i);
  const fill = () => body.replaceChildren(...order.map((i) => htmlNode("tr", {}, ...rows[i].map((cell, c) => {
    const mark = ["measured", "oversubscribed", "simulated", "failed", "not run"].includes(cell);
    return htmlNode("td", right[c] ? { class: "number" } : {}, mark ? htmlNode("span", { class: `mark ${cell}` }, cell) : String(cell));
  }))));
  head.forEach((name, c) => {
    const th = htmlNode("th", { tabindex: "0", scope: "col", ...(right[c] ? { class: "number" } : {}) }, name);
    const sort = () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      titles.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      order.sort((a, b) => {
        const x = rows[a][c], y = rows[b][c];
        if ((x === "") !== (y === "")) return x === "" ? 1 : -1;
        const by = right[c] ? numberIn(x) - numberIn(y) : String(x).localeCompare(String(y), undefined, { numeric: true });
        return down ? -by : by;
      });
      fill();
    };
    th.onclick = sort;
    th.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } };
    titles.append(th);
  });
  fill();
  table.append(htmlNode("thead", {}, titles), body);
  return htmlNode("div", { class: "scroll" }, table);
}

const heading = (text) => main.append(htmlNode("h2", {}, text));
const percent = (v) => (Number.isFinite(v) ? (v * 100).toFixed(2) + "%" : "");

if (report.cards.length)
  main.append(htmlNode("div", { class: "cards" }, ...report.cards.map(([value, what]) => htmlNode("div", { class: "card" }, htmlNode("b", {}, value), htmlNode("span", {}, what)))));
for (const text of report.skipped) main.append(htmlNode("p", { class: "warning" }, text));

for (const study of report.studies) {
  heading(study.title);
  main.append(sortable(study.table.head, study.table.rows), htmlNode("p", { class: "quiet" }, study.table.note));
  main.append(htmlNode("div", { class: "charts" }, ...study.charts.map((c) => (c.names ? barChart(c) : lineChart(c)))));
  for (const text of study.notes.split(/\n\s*\n/)) if (text.trim()) main.append(htmlNode("p", {}, text.trim()));
}

const runs = report.runs;
if (runs.length) {
  heading(runs.length === 1 ? "The run" : `Runs (${runs.length})`);
  const columns = [["run", (r) => r.name], ["ranks", (r) => r.summary.parallel?.ranks ?? r.summary.ranks ?? 1],
    ["epochs", (r) => r.summary.epochs ?? ""], ["test accuracy", (r) => percent(r.summary.test_accuracy)], ["test loss", (r) => shown(r.summary.test_loss)],
    ["samples/s", (r) => (r.summary.samples_per_second ? shown(r.summary.samples_per_second) : "")], ["total s", (r) => shown(r.summary.total_seconds)],
    ["kind", (r) => (r.summary.simulated ? "simulated" : r.summary.parallel?.oversubscribed || r.summary.oversubscribed ? "oversubscribed" : "measured")],
    ["data", (r) => r.summary.data ?? ""]];
  main.append(sortable(columns.map((c) => c[0]), runs.map((r) => columns.map((c) => String(c[1](r))))));

  const drawn = runs.slice(0, 40), curves = (title, x, key) => ({
    title, x, series: drawn.filter((r) => r.curves[key]?.length).map((r) => ({ name: r.name, points: r.curves[key] })) });
  const charts = [curves("Training loss", "step", "loss"), curves("Training accuracy", "epoch", "accuracy"),
    curves("Validation loss", "epoch", "eval_loss"), curves("Seconds an epoch", "epoch", "seconds")].filter((c) => c.series.length);
  if (charts.length) {
    heading("Curves");
    if (runs.length > drawn.length) main.append(htmlNode("p", { class: "quiet" }, `The first ${drawn.length} of ${runs.length} runs; name fewer to see others.`));
    main.append(htmlNode("div", { class: "charts" }, ...charts.map(lineChart)));
  }
  const parallel = drawn.filter((r) => r.summary.parallel);
  if (parallel.length) {
    heading("Where the time of ranks goes");
    main.append(htmlNode("div", { class: "charts" }, stackedBars({ title: "Share of a step", parts: ["computing", "communication", "waiting", "loading"],
      rows: parallel.map((r) => { const p = r.summary.parallel; return { name: r.name,
        values: [p.computing_share, p.exposed_communication_share, p.waiting_share, p.loading_share] }; }) })));
    for (const r of parallel) if (r.summary.parallel.diagnosis) main.append(htmlNode("p", { class: "warning" }, `${r.name}: ${r.summary.parallel.diagnosis}`));
  }
  for (const r of drawn.filter((run) => run.lanes?.length)) {
    heading(`What ranks did: ${r.name}`);
    main.append(lanes("A few steps, a lane a rank", r.lanes));
  }
  heading("Configuration and machine");
  for (const r of drawn) {
    const box = htmlNode("details", {}, htmlNode("summary", {}, r.name), htmlNode("p", { class: "quiet" }, `${r.summary.device ?? ""} · ${r.summary.versions ?? ""} · ${r.path}`));
    if (r.config) box.append(htmlNode("pre", {}, r.config));
    main.append(box);
  }
}
main.append(htmlNode("p", { class: "quiet" }, report.machine));
