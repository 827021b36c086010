// A histogram of values with the two ends of a range: dragged in it, or typed beside it.

import { el, svg, replace } from "./dom.js";
import { histogram } from "./colour.js";
import { short } from "./number.js";

const BINS = 72;

export class Distribution {
  // `of` names what has the range; `onChange([low, high])` is told.
  constructor(of, onChange) {
    this.onChange = onChange;
    this.values = new Float64Array();
    this.range = [0, 1];
    this.bars = svg("svg", { class: "histogram", viewBox: `0 0 ${BINS} 40`, preserveAspectRatio: "none", role: "img", "aria-label": `Histogram of ${of}` });
    this.bars.addEventListener("pointerdown", (event) => this.#drag(event));
    this.bars.addEventListener("pointermove", (event) => event.buttons && this.#drag(event));
    this.low = this.#end(`Lowest value of ${of}`, 0);
    this.high = this.#end(`Highest value of ${of}`, 1);
    this.numbers = el("div", { class: "row" }, this.low, el("span", { "aria-hidden": "true" }, "to"), this.high);
  }

  #end(label, n) {
    const change = (value) => {
      const chosen = [...this.range];
      chosen[n] = value;
      if (Number.isFinite(value) && chosen[0] < chosen[1]) this.onChange(chosen);
      else this.refresh();
    };
    return el("input", {
      type: "text", inputmode: "decimal", "aria-label": label, class: "end",
      onchange: (event) => change(event.target.value.trim() === "" ? NaN : Number(event.target.value.replace("−", "-"))),
      onkeydown: (event) => {
        const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        change(rounded(this.range[n] + (by * (this.range[1] - this.range[0])) / 100));
      },
    });
  }

  // `values` are in ascending order. Without `isExact` the ends are shown with few digits; with `hasNone` there are none.
  show(values, range, { isExact = false, hasNone = false } = {}) {
    Object.assign(this, { values, range, isExact, hasNone });
    this.refresh();
  }

  refresh() {
    const { values, hasNone, isExact } = this;
    const [low, high] = this.range;
    const text = (value) => (hasNone ? "" : isExact ? String(value) : short(value, high - low));
    this.low.value = text(low);
    this.high.value = text(high);
    const found = histogram(values, BINS);
    this.found = found;
    const most = Math.max(1, ...found.counts);
    const x = (value) => (found.high === found.low ? BINS / 2 : ((value - found.low) / (found.high - found.low)) * BINS);
    const within = (value) => Math.max(0, Math.min(BINS, x(value)));
    const bars = found.counts.map((count, n) => (count ? `M${n},40V${(40 - 38 * Math.sqrt(count / most)).toFixed(2)}h1V40z` : "")).join("");
    replace(
      this.bars,
      svg("path", { class: "bars", d: bars }),
      svg("rect", { class: "beyond", x: 0, y: 0, width: within(low), height: 40 }),
      svg("rect", { class: "beyond", x: within(high), y: 0, width: BINS - within(high), height: 40 }),
      ...(hasNone ? [] : [low, high]).map((end) => svg("line", { class: "end", x1: within(end), x2: within(end), y1: 0, y2: 40, "vector-effect": "non-scaling-stroke" })),
    );
  }

  // The nearer end of the range goes to where the histogram is touched.
  #drag(event) {
    const { low, high } = this.found;
    if (low === high || !this.values.length) return;
    const box = this.bars.getBoundingClientRect();
    const value = low + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (high - low);
    const ends = [...this.range];
    if (event.type === "pointerdown") {
      this.bars.setPointerCapture(event.pointerId);
      this.held = Math.abs(value - ends[0]) < Math.abs(value - ends[1]) ? 0 : 1;
    }
    ends[this.held] = rounded(value);
    if (ends[0] < ends[1]) this.onChange(ends);
  }
}

const rounded = (value) => Number(value.toPrecision(4));
