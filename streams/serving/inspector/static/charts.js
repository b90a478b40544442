// Charts of the tables that stand beside them: who sees no chart reads the table.
/* global uPlot */
const numbers = (cells) => [...cells].map((cell) => {
  const text = cell.textContent.trim().replace("\u2212", "-");
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
});

const draw = (figure) => {
  const plot = figure.querySelector(".plot");
  const table = figure.querySelector("table");
  if (!plot || !table || plot.dataset.drawn) return;
  plot.dataset.drawn = "yes";
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const rows = [...table.querySelectorAll("tbody tr")];
  const names = [...table.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent.trim());
  const shown = figure.dataset.chart === "mood" ? 3 : names.length;
  const data = [
    rows.map((row) => Date.parse(row.dataset.at) / 1000),
    ...names.slice(0, shown).map((_, at) => numbers(rows.map((row) => row.querySelectorAll("td")[at]))),
  ];
  const dashes = [[], [6, 4], [1, 4], [10, 3, 2, 3]];
  const marks = ["solid", "dashed", "dotted", "dashed"];
  const halfDay = 43_200;
  const inks = ["accent", "ink", "faint"];
  const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  // days; within two of them hours, so that no two places have one name
  const [first, last] = [data[0][0], data[0].at(-1)];
  const isShort = last - first < 2 * 86_400;
  const [from, to] = isShort ? [11, 16] : [5, 10];
  const chart = new uPlot({
    width: plot.clientWidth,
    height: 190,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
    // around a single time, so that it stands in the middle and no two places have one name
    scales: { x: { range: (_self, low, high) => (first === last ? [first - halfDay, first + halfDay] : [low, high]) }, y: { range: figure.dataset.chart === "mood" ? [-1, 1] : [0, 1] } },
    axes: [{ ...axis, values: (_self, at) => at.map((one) => new Date(one * 1000).toISOString().slice(from, to)) }, { ...axis, size: 36 }],
    legend: { live: false, markers: { dash: (_self, at) => marks[(at - 1) % marks.length] } },
    cursor: { drag: { x: false, y: false } },
    series: [{}, ...data.slice(1).map((_, at) => ({
      label: names[at],
      stroke: colour(inks[at % inks.length]),
      width: at === 0 ? 2 : 1.25,
      dash: dashes[at % dashes.length],
      points: { show: rows.length < 60, size: 5 },
      spanGaps: true,
      value: (_self, value) => (value === null ? "" : value.toFixed(2)),
    }))],
  }, data, plot);
  new ResizeObserver(() => {
    if (plot.clientWidth && plot.clientWidth !== chart.width) chart.setSize({ width: plot.clientWidth, height: 190 });
  }).observe(plot);
};

const drawAll = () => document.querySelectorAll(".chart").forEach(draw);
drawAll();
document.addEventListener("htmx:afterSettle", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of document.querySelectorAll(".chart .plot")) {
    plot.replaceChildren();
    delete plot.dataset.drawn;
  }
  drawAll();
});
