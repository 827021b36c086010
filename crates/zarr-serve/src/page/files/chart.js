// A line of values along an axis, as SVG; where an element is a span of many, from its lowest to its highest value.

import { el, svg, replace } from "./dom.js";
import { short, steps, unit } from "./number.js";

const EDGE = { right: 14, top: 12, bottom: 38 };

export class Chart {
  // `onPick(index)` when a place is chosen; `onZoom(from, to)` when another part is to be seen.
  constructor({ onPick, onZoom, height }) {
    Object.assign(this, { onPick, onZoom, height });
    this.drawing = svg("svg", { class: "drawing", role: "img" });
    this.readout = el("p", { class: "readout", role: "status" });
    this.element = el("div", { class: "chart" }, this.drawing, this.readout);
    this.drawing.addEventListener("pointermove", (event) => this.#hover(event));
    this.drawing.addEventListener("pointerleave", () => this.#hover(null));
    this.drawing.addEventListener("click", (event) => {
      const index = this.#indexAt(event);
      if (index !== null) this.onPick?.(index);
    });
    if (onZoom) {
      this.drawing.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    }
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  end() {
    this.observer.disconnect();
  }

  // `{from, step, low, high}`: the lowest and highest value of each `step` elements from `from` on, `null` where all are missing.
  show(line, axis, { marked = null, units = "", name = "" } = {}) {
    Object.assign(this, { line, axis, marked, units, name });
    this.draw();
  }

  draw() {
    const width = Math.floor(this.element.getBoundingClientRect().width);
    if (!this.line || width < 100) return;
    const height = this.height;
    // Dates are longer than numbers.
    this.left = this.line.dates ? 88 : 68;
    const { low, high, from, step } = this.line;
    const to = from + low.length * step;
    const known = [...low, ...high].filter(Number.isFinite);
    let [bottom, top] = known.length ? [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))] : [0, 1];
    if (bottom === top) [bottom, top] = [bottom - 0.5, top + 0.5];
    const margin = (top - bottom) * 0.05;
    [bottom, top] = [bottom - margin, top + margin];
    const x = (index) => this.left + ((index - from) / Math.max(1, to - from)) * (width - this.left - EDGE.right);
    const y = (value) => height - EDGE.bottom - ((value - bottom) / (top - bottom)) * (height - EDGE.top - EDGE.bottom);
    this.scale = { from, to, width };
    const ticks = [];
    if (!known.length) ticks.push(svg("text", { class: "tick", x: (this.left + width) / 2, y: height / 2, "text-anchor": "middle" }, "no values"));
    else for (const [value, text] of this.#levels(bottom, top, (height - 50) / 40)) {
      if (value < bottom || value > top) continue;
      ticks.push(svg("line", { class: "grid", x1: this.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }));
      ticks.push(svg("text", { class: "tick", x: this.left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    let end = -Infinity;
    for (const { at, text } of this.axis.ticks(from, to, Math.max(2, (width - 80) / 110))) {
      const px = x(at);
      const half = text.length * 3.3;
      if (px < this.left - 1 || px > width - EDGE.right + 1 || px - half < end + 6) continue;
      const middle = Math.min(px, width - half - 2);
      ticks.push(svg("line", { class: "mark", x1: px, x2: px, y1: height - EDGE.bottom, y2: height - EDGE.bottom + 4 }));
      ticks.push(svg("text", { class: "tick", x: middle, y: height - EDGE.bottom + 17, "text-anchor": "middle" }, text));
      end = middle + half;
    }
    const name = this.axis.units && this.axis.kind !== "time" ? `${this.axis.name} [${unit(this.axis.units)}]` : this.axis.name;
    ticks.push(svg("text", { class: "tick", x: (this.left + width - EDGE.right) / 2, y: height - 5, "text-anchor": "middle" }, name));
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.setAttribute("height", height);
    this.drawing.setAttribute("aria-label", `${this.name} along ${this.axis.name}, from ${short(bottom + margin)} to ${short(top - margin)} ${this.units}`);
    const cursor = svg("line", { class: "cursor", x1: 0, x2: 0, y1: EDGE.top, y2: height - EDGE.bottom, visibility: "hidden" });
    this.cursor = cursor;
    const parts = [...ticks, ...this.#paths(x, y)];
    if (this.marked !== null && this.marked >= from && this.marked < to) {
      const at = x(this.marked + 0.5);
      parts.push(svg("line", { class: "marked", x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }));
    }
    replace(this.drawing, parts, cursor);
    this.x = x;
  }

  // Values beside which there is a text. Of dates those that are there, near to round numbers.
  #levels(bottom, top, wanted) {
    const { low, dates } = this.line;
    const round = steps(bottom, top, wanted);
    if (!dates) return round.map((value) => [value, short(value, top - bottom)]);
    const distance = (n, value) => (low[n] === null ? Infinity : Math.abs(low[n] - value));
    const nearest = round.map((value) => low.reduce((best, _, n) => (distance(n, value) < distance(best, value) ? n : best), 0));
    return [...new Set(nearest)].filter((n) => dates[n]).map((n) => [low[n], dates[n].split("T")[0]]);
  }

  #paths(x, y) {
    const { low, high, from, step } = this.line;
    const line = [];
    const dots = [];
    const area = [];
    let run = [];
    const close = () => {
      if (run.length === 1) dots.push(svg("circle", { class: "dot", cx: run[0][0], cy: run[0][1], r: 2.2 }));
      if (run.length > 1) line.push(`M${run.map(([px, a, b]) => (a === b ? `${px},${a}` : `${px},${a}L${px},${b}`)).join("L")}`);
      run = [];
    };
    low.forEach((value, n) => {
      if (!Number.isFinite(value)) return close();
      run.push([x(from + (n + 0.5) * step).toFixed(1), y(value).toFixed(1), y(high[n]).toFixed(1)]);
    });
    close();
    if (low.length <= 80) low.forEach((value, n) => Number.isFinite(value) && area.push(svg("circle", { class: "dot", cx: x(from + (n + 0.5) * step), cy: y(value), r: 2.6 })));
    return [svg("path", { class: "line", d: line.join("") }), ...dots, ...area];
  }

  #indexAt(event) {
    if (!this.scale) return null;
    const box = this.drawing.getBoundingClientRect();
    const { from, to, width } = this.scale;
    const part = ((event.clientX - box.left) * (width / box.width) - this.left) / (width - this.left - EDGE.right);
    const index = Math.floor(from + part * (to - from));
    return part < 0 || part > 1 ? null : Math.max(from, Math.min(to - 1, index));
  }

  #hover(event) {
    const index = event && this.#indexAt(event);
    if (index === null) {
      this.readout.textContent = "";
      this.cursor?.setAttribute("visibility", "hidden");
      return;
    }
    const { low, high, from, step } = this.line;
    const n = Math.floor((index - from) / step);
    const at = this.x(index + 0.5);
    this.cursor.setAttribute("visibility", "visible");
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
    const date = this.line.dates?.[n];
    const value = low[n] === null ? "missing" : date ? date.replace("T", " ") : low[n] === high[n] ? `${short(low[n])} ${this.units}` : `${short(low[n])} … ${short(high[n])} ${this.units}`;
    const label = this.axis.full(index);
    this.readout.textContent = `${this.axis.name} ${label ?? index}${label ? ` (${index})` : ""}: ${value}`;
  }

  #wheel(event) {
    const index = this.#indexAt(event);
    if (index === null) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, index);
  }

  // Shows more or less of the axis around an index.
  zoom(factor, around) {
    const { from, to } = this.scale;
    around ??= (from + to) / 2;
    const size = this.axis.size;
    const length = Math.max(4, Math.min(size, (to - from) * factor));
    const start = Math.max(0, Math.min(size - length, around - ((around - from) / (to - from)) * length));
    this.onZoom(Math.floor(start), Math.ceil(start + length));
  }
}
