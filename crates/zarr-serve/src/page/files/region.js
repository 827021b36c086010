// A rectangle or a line in the picture: mean, lowest and highest value, a profile, and the values as CSV.

import { button, el, replace, select } from "./dom.js";
import { slice } from "./api.js";
import { Chart } from "./chart.js";
import { count, short, steps } from "./number.js";

// The most elements that are read.
const MAX_ELEMENTS = 4e6;
const SHAPES = [["rectangle", "a rectangle"], ["line", "a line"]];

export class Region {
  // `view` is the data's; `onChange(text)` is told what a link has.
  constructor(view, now, onChange) {
    Object.assign(this, { view, onChange, shape: "rectangle", ends: null });
    const [shape, ...ends] = (now.region ?? "").split(":");
    if (SHAPES.some(([known]) => known === shape) && ends.length === 4 && ends.every((text) => /^\d+$/.test(text))) {
      this.shape = shape;
      this.ends = ends.map(Number);
    }
    this.result = el("div", { class: "result" });
    this.numbers = ["from", "from", "to", "to"].map((text) => el("input", { type: "number", min: 0, class: "index", "data-end": text, onchange: () => this.set(this.numbers.map((input) => input.valueAsNumber || 0)) }));
    this.names = [0, 1].map(() => el("span", { class: "quiet", "aria-hidden": "true" }));
    const part = (n) => el("span", { class: "part" }, this.names[n], this.numbers[n], el("span", { "aria-hidden": "true" }, "to"), this.numbers[n + 2]);
    this.choose = select("Shape of the region", SHAPES, this.shape, (shape) => {
      this.shape = shape;
      this.set(this.ends);
    });
    this.element = el(
      "section", { class: "line", "aria-label": "Region" },
      el("div", { class: "head" }, el("h2", {}, "Region"), this.choose, part(0), part(1), button("Close the region", () => this.close(), { icon: "close" })),
      this.result,
    );
    this.element.hidden = true;
  }

  // Begins in the middle of what is seen.
  open() {
    const { x, y } = this.view.picture.seen();
    const part = ([from, to], at) => Math.floor(from + (to - from) * at);
    this.set(this.ends ?? [part(x, 0.4), part(y, 0.4), part(x, 0.6), part(y, 0.6)]);
  }

  isOpen() {
    return !this.element.hidden;
  }

  close() {
    this.asked?.abort();
    this.element.hidden = true;
    this.ends = null;
    this.#tell();
    this.view.picture.canvas.focus();
  }

  // `[x, y, x, y]`, the elements at both ends.
  set(ends, isDone = true) {
    const axes = this.axes();
    this.ends = ends.map((value, n) => Math.max(0, Math.min(axes[n % 2].size - 1, value)));
    this.element.hidden = false;
    this.names.forEach((name, n) => (name.textContent = axes[n].name));
    this.numbers.forEach((input, n) => {
      input.value = this.ends[n];
      input.max = axes[n % 2].size - 1;
      input.setAttribute("aria-label", `${axes[n % 2].name} ${input.dataset.end}`);
    });
    this.#tell();
    if (isDone) this.read();
  }

  axes() {
    return [this.view.axes[this.view.x], this.view.axes[this.view.y]];
  }

  #tell() {
    this.onChange(this.ends ? [this.shape, ...this.ends].join(":") : null);
    this.view.picture.region = this.ends && { shape: this.shape, ends: this.ends };
    this.view.picture.draw();
  }

  // Another plane is shown.
  async read() {
    if (!this.isOpen() || !this.ends) return;
    this.asked?.abort();
    const { signal } = (this.asked = new AbortController());
    const [x0, x1] = [this.ends[0], this.ends[2]].sort((a, b) => a - b);
    const [y0, y1] = [this.ends[1], this.ends[3]].sort((a, b) => a - b);
    const [width, height] = [x1 - x0 + 1, y1 - y0 + 1];
    if (width * height > MAX_ELEMENTS) return replace(this.result, el("p", { class: "quiet" }, `${count(width * height)} elements are too many: choose fewer than ${count(MAX_ELEMENTS)}.`));
    try {
      const layers = [];
      for (const { name, at } of this.view.layersAt()) {
        const { values } = await slice({ path: this.view.path, x: this.view.x, y: this.view.y, at: at.join(","), across: `${x0}:${x1 + 1}:1`, down: `${y0}:${y1 + 1}:1` }, signal);
        layers.push({ name, values });
      }
      if (this.shape === "line") this.#profile(layers, x0, y0, width);
      else this.#rectangle(layers, x0, y0, width);
    } catch (error) {
      if (error.name !== "AbortError") replace(this.result, el("p", { class: "trouble" }, error.message));
    }
  }

  #rectangle(layers, x0, y0, width) {
    const units = this.view.array.units ? ` ${this.view.array.units}` : "";
    const row = ({ name, values }) => {
      const { known, mean, deviation, low, high } = summary(values);
      const cells = [count(known), ...[mean, deviation, low, high].map((value) => `${short(value)}${Number.isNaN(value) ? "" : units}`)];
      return el("tr", {}, el("th", { scope: "row" }, name || "values"), cells.map((text) => el("td", {}, text)));
    };
    const head = ["", "count", "mean", "standard deviation", "lowest", "highest"].map((text) => (text ? el("th", { scope: "col" }, text) : el("td")));
    const rows = () => {
      const [x, y] = this.axes();
      const all = [[...(layers.length > 1 ? ["channel"] : []), y.name, x.name, "value"]];
      for (const { name, values } of layers) values.forEach((value, n) => all.push([...(layers.length > 1 ? [name] : []), y0 + Math.floor(n / width), x0 + (n % width), value]));
      return all;
    };
    replace(this.result, el("div", { class: "scroll" }, el("table", { class: "region" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, layers.map(row)))), this.#save(rows));
  }

  // The elements nearest to a line, one in each column or row.
  #profile(layers, x0, y0, width) {
    const [xa, ya, xb, yb] = this.ends;
    const length = Math.max(Math.abs(xb - xa), Math.abs(yb - ya));
    const at = Array.from({ length: length + 1 }, (_, n) => [Math.round(xa + ((xb - xa) * n) / (length || 1)), Math.round(ya + ((yb - ya) * n) / (length || 1))]);
    const found = layers.map(({ name, values }) => ({ name, values: at.map(([x, y]) => values[(y - y0) * width + x - x0]) }));
    const axis = { name: "element of the line", full: (n) => at[n]?.join(", "), ticks: (from, to, wanted) => steps(from, to - 1, wanted).filter(Number.isInteger).map((n) => ({ at: n + 0.5, text: count(n) })) };
    this.charts?.forEach((chart) => chart.end());
    this.charts = found.map(() => new Chart({ height: 150, onPick: null }));
    replace(this.result, found.map(({ name }, n) => [name && el("h3", {}, name), this.charts[n].element]), this.#save(() => {
      const [x, y] = this.axes();
      return [[y.name, x.name, ...found.map(({ name }) => name || "value")], ...at.map(([column, row], n) => [row, column, ...found.map(({ values }) => values[n])])];
    }));
    found.forEach(({ name, values }, n) => {
      const known = values.map((value) => (Number.isNaN(value) ? null : value));
      this.charts[n].show({ from: 0, step: 1, low: known, high: known }, axis, { units: this.view.array.units ?? "", name: name || this.view.node.name });
    });
  }

  #save(rows) {
    return button("Save as CSV", () => {
      const text = rows().map((row) => row.map(cell).join(",")).join("\r\n");
      const href = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
      el("a", { href, download: `${this.view.node.name || "array"}-${this.shape}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(href), 10000);
    });
  }
}

const cell = (value) => (typeof value === "number" ? (Number.isNaN(value) ? "" : String(value)) : /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

// The number of values that are not missing, their mean, standard deviation (of all, as `zarr stats`), lowest and highest.
export function summary(values) {
  let [known, mean, squares, low, high] = [0, 0, 0, NaN, NaN];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    const from = value - mean;
    mean += from / ++known;
    squares += from * (value - mean);
    if (!(value >= low)) low = value;
    if (!(value <= high)) high = value;
  }
  return { known, mean: known ? mean : NaN, deviation: known ? Math.sqrt(squares / known) : NaN, low, high };
}
