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

// A table that is sorted by the column whose head is clicked: numbers by value, empty cells last.
function sortable(head, rows) {
  const table = htmlNode("table", {}), body = htmlNode("tbody", {}), titles = htmlNode("tr", {});
  const right = head.map((_, c) => rows.some((r) => r[c] !== "") && rows.every((r) => r[c] === "" || !Number.isNaN(numberIn(r[c]))));
  const order = rows.map((_, i) => i);
  const fill = () => body.replaceChildren(...order.map((i) => htmlNode("tr", {}, ...rows[i].map((cell, c) => {
    const mark = ["measured", "emulated hosts", "oversubscribed", "simulated", "published", "failed", "not run"].includes(cell);
    return htmlNode("td", right[c] ? { class: "number" } : String(cell).length > 30 ? { class: "long" } : {}, mark ? htmlNode("span", { class: `mark ${cell}` }, cell) : String(cell));
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
const chartsOf = (charts) => htmlNode("div", { class: "charts" }, ...charts.map((c) => (c.names ? barChart(c) : lineChart(c))));

if (report.tiles.length)
  main.append(htmlNode("div", { class: "cards" }, ...report.tiles.map(([value, what]) => htmlNode("div", { class: "card" }, htmlNode("b", {}, value), htmlNode("span", {}, what)))));
for (const text of report.skipped) main.append(htmlNode("p", { class: "warning" }, `Left out: ${text}`));

if (report.claims && report.claims.rows.length) {
  heading("Claims of the documents");
  main.append(sortable(report.claims.head, report.claims.rows), htmlNode("p", { class: "quiet" }, report.claims.note));
}
for (const study of report.studies) {
  heading(study.title);
  main.append(sortable(study.table.head, study.table.rows), htmlNode("p", { class: "quiet" }, study.table.note), 
    ...study.grids.flatMap((grid) => [htmlNode("h3", {}, grid.title), sortable(grid.head, grid.rows), htmlNode("p", { class: "quiet" }, grid.note)]),
    chartsOf(study.charts));
  for (const text of study.notes.split(/\n\s*\n/)) if (text.trim()) main.append(htmlNode("p", {}, text.trim()));
}

const runs = report.table.rows;
if (runs.length) {
  heading(runs.length === 1 ? "The run" : `Runs (${runs.length})`);
  main.append(sortable(report.table.head, runs));
  if (report.charts.length) {
    heading("Curves");
    main.append(chartsOf(report.charts));
  }
  if (report.more_charts.length)
    main.append(htmlNode("details", {}, htmlNode("summary", {}, "More curves: learning rate, gradient norm, evaluation"), chartsOf(report.more_charts)));
  if (report.shares.length) {
    heading("How ranks spend their time");
    main.append(htmlNode("div", { class: "charts" }, stackedBars({ title: "Share of a step", parts: ["computing", "communication", "waiting", "loading"], rows: report.shares })));
  }
  for (const text of report.diagnoses) main.append(htmlNode("p", { class: "warning" }, text));
  for (const run of report.details.filter((r) => r.lanes.length)) {
    heading(`Timeline of ranks: ${run.name}`);
    main.append(lanes("A few steps, one lane per rank", run.lanes));
  }
  heading("Configuration and machine");
  for (const run of report.details) {
    const box = htmlNode("details", {}, htmlNode("summary", {}, run.name), htmlNode("p", { class: "quiet" }, `${run.device} · ${run.versions} · ${run.path}`));
    if (run.config) box.append(htmlNode("pre", {}, run.config));
    main.append(box);
  }
}
main.append(htmlNode("p", { class: "quiet" }, report.machine));
