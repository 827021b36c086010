// The statistics of an array: numbers, percentiles, a histogram.

import { button, el, replace } from "./dom.js";
import { json } from "./api.js";
import { count, plain, short } from "./number.js";

// The statistics of an array of more elements are computed when the user asks for them.
const MAX_COUNTED_AT_ONCE = 5e7;
const BINS = 60;

export function statistics(node) {
  const holder = el("div", { class: "panes" });
  const run = async () => {
    const controller = new AbortController();
    replace(holder, el("p", { class: "quiet", role: "status" }, "Reading all elements…"), button("Stop", () => controller.abort()));
    try {
      const found = await json("stats", { path: node.path, percentile: "2,25,50,75,98", histogram: BINS }, controller.signal);
      const columns = found.fields ? Object.entries(found.fields) : [["", found]];
      replace(holder, columns.map(([name, column]) => [name && el("h2", {}, name), shown(column, node.array.units ?? "")]));
    } catch (error) {
      replace(holder, el("p", { class: "trouble", role: "alert" }, error.name === "AbortError" ? "Stopped." : error.message), button("Again", run));
    }
  };
  const all = node.array.shape.reduce((a, b) => a * b, 1);
  if (all <= MAX_COUNTED_AT_ONCE) run();
  else replace(holder, el("p", {}, `All ${count(all)} elements are read for this, within 30 seconds; \`zarr stats\` takes as long as it needs.`), button("Compute the statistics", run, { class: "main" }));
  return holder;
}

const COUNTS = { count: "valid values", missing: "missing", nan: "NaN", pos_inf: "+∞", neg_inf: "−∞", never_written: "never written", empty: "empty", distinct: "different" };
const VALUES = { min: "lowest", max: "highest", mean: "mean", std: "standard deviation", min_length: "shortest", max_length: "longest" };

function shown(found, units) {
  const lines = [];
  const add = (name, text, more) => lines.push(el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text, more && el("span", { class: "quiet" }, more))));
  const value = (value) => `${typeof value === "number" ? plain(String(value)) : value}${units && typeof value === "number" ? ` ${units}` : ""}`;
  for (const [key, name] of Object.entries(COUNTS)) if (found[key] || key === "count") add(name, count(found[key]));
  for (const [key, name] of Object.entries(VALUES)) {
    const at = found[`${key}_at`];
    if (found[key] !== undefined && found[key] !== null) add(name, value(found[key]), at && ` at [${at.join(", ")}]`);
  }
  for (const [percent, number] of Object.entries(found.percentiles ?? {}).sort(([a], [b]) => a - b)) add(percent === "50" ? "median" : `${percent} %`, value(number));
  const table = el("table", { class: "numbers" }, el("caption", { class: "hidden" }, "Statistics"), el("tbody", {}, lines));
  return el("div", { class: "statistics" }, table, found.histogram && bars(found.histogram, units));
}

function bars({ edges, counts }, units) {
  const most = Math.max(1, ...counts);
  const span = edges[edges.length - 1] - edges[0];
  const label = `Histogram of all values, from ${short(edges[0], span)} to ${short(edges[edges.length - 1], span)} ${units}`;
  return el(
    "figure", {},
    el("div", { class: "bars", role: "img", "aria-label": label }, counts.map((n, at) => {
      const bar = el("span", { title: `${short(edges[at], span)} to ${short(edges[at + 1], span)}: ${count(n)}` });
      bar.style.height = `${Math.max(n ? 1 : 0, (100 * n) / most)}%`;
      return bar;
    })),
    el("div", { class: "ends" }, el("span", {}, short(edges[0], span)), el("span", {}, units), el("span", {}, short(edges[edges.length - 1], span))),
  );
}
