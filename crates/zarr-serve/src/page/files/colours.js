// The controls of colours: map, range, logarithm, histogram.

import { el, svg, replace, select, button } from "./dom.js";
import { histogram, range, sorted } from "./colour.js";
import { short } from "./number.js";

const BINS = 72;
const CHOICES = [["2,98%", "2 % – 98 %"], ["0.1,99.9%", "0.1 % – 99.9 %"], ["full", "all values"], ["manual", "chosen"]];

export class Colours {
  // `maps` are `{name: bytes}`; `settings` are `{map, plain, signed, range, log, reversed, labels}`: without a `map` values on both
  // sides of 0 get the `signed` one, others the `plain` one; `onChange()` is told.
  constructor(maps, settings, onChange) {
    Object.assign(this, { maps, settings, onChange });
    this.values = new Float64Array();
    this.map = select("Colour map", [["", "automatic"], ...Object.keys(maps).map((name) => [name, name])], settings.map, (map) => this.#change({ map }));
    this.choice = select("Range of the colours", CHOICES, "2,98%", (choice) => this.#change({ range: choice === "manual" ? this.range() : choice }));
    const end = (label, n) => el("input", {
      type: "text", inputmode: "decimal", "aria-label": label, class: "end",
      onchange: (event) => {
        const value = Number(event.target.value.replace("−", "-"));
        const chosen = [...this.range()];
        chosen[n] = value;
        if (event.target.value.trim() !== "" && Number.isFinite(value) && chosen[0] < chosen[1]) this.#change({ range: chosen });
        else this.refresh();
      },
    });
    this.low = end("Lowest value of the colours", 0);
    this.high = end("Highest value of the colours", 1);
    const check = (label, key) => {
      const box = el("input", { type: "checkbox", onchange: () => this.#change({ [key]: box.checked }) });
      this[key] = box;
      return el("label", { class: "check" }, box, label);
    };
    this.bars = svg("svg", { class: "histogram", viewBox: `0 0 ${BINS} 40`, preserveAspectRatio: "none", role: "img", "aria-label": "Histogram of what is seen" });
    this.strip = el("canvas", { class: "strip", width: 256, height: 1, "aria-hidden": "true" });
    this.ends = el("div", { class: "ends" });
    this.bars.addEventListener("pointerdown", (event) => this.#drag(event));
    this.bars.addEventListener("pointermove", (event) => event.buttons && this.#drag(event));
    this.element = el(
      "fieldset", { class: "colours" }, el("legend", {}, "Colours"),
      el("div", { class: "row" }, this.map, button("Reverse the colours", () => this.#change({ reversed: !this.settings.reversed }), { icon: "flip" })),
      el("div", { class: "distribution" }, this.bars, this.strip, this.ends),
      el("div", { class: "row" }, this.choice),
      el("div", { class: "row" }, this.low, el("span", { "aria-hidden": "true" }, "to"), this.high),
      el("div", { class: "row" }, check("logarithmic", "log"), check("as labels", "labels")),
    );
    this.refresh();
  }

  #change(changes) {
    Object.assign(this.settings, changes);
    this.refresh();
    this.onChange(changes);
  }

  // The values that are seen: what ranges are computed from.
  see(values) {
    this.values = sorted(values);
    this.refresh();
  }

  // The values that have a colour: a logarithm has no place for what is not positive.
  #known() {
    const from = this.settings.log ? this.values.findIndex((value) => value > 0) : 0;
    return from < 0 ? new Float64Array() : this.values.subarray(from);
  }

  // Whether a range is computed, and there is no value to compute it from.
  hasNone() {
    return !Array.isArray(this.settings.range) && !this.#known().length;
  }

  range() {
    const { log } = this.settings;
    const values = this.#known();
    const found = range(this.settings.range, values);
    if (log) return found[0] <= 0 ? [Math.max(values[0] ?? 1e-3, 1e-300), Math.max(found[1], 1e-299)] : found;
    if (!this.settings.map && !Array.isArray(this.settings.range) && isSigned(found)) {
      const most = Math.max(Math.abs(found[0]), Math.abs(found[1]));
      return [-most, most];
    }
    return found;
  }

  // The name of the map that is used, as `zarr plot` chooses it.
  mapName() {
    const { map, plain, signed } = this.settings;
    return map || (isSigned(this.range()) ? signed : plain);
  }

  // What `paint` needs.
  paint() {
    const [low, high] = this.range();
    return { colours: this.table(), low, high, log: this.settings.log, isLabels: this.settings.labels };
  }

  table() {
    const found = this.maps[this.mapName()];
    if (!this.settings.reversed) return found;
    const reversed = new Uint8Array(found.length);
    for (let n = 0; n < 256; n++) reversed.set(found.subarray(3 * n, 3 * n + 3), 3 * (255 - n));
    return reversed;
  }

  refresh() {
    const { settings } = this;
    const isChosen = Array.isArray(settings.range);
    this.map.value = settings.map;
    this.choice.value = isChosen ? "manual" : settings.range;
    this.log.checked = Boolean(settings.log);
    this.labels.checked = Boolean(settings.labels);
    const [low, high] = this.range();
    const hasNone = this.hasNone();
    const exact = (value) => (hasNone ? "" : isChosen ? String(value) : short(value, high - low));
    this.low.value = exact(low);
    this.high.value = exact(high);
    const found = histogram(this.values, BINS);
    const most = Math.max(1, ...found.counts);
    const x = (value) => (found.high === found.low ? BINS / 2 : ((value - found.low) / (found.high - found.low)) * BINS);
    const within = (value) => Math.max(0, Math.min(BINS, x(value)));
    const bars = found.counts.map((count, n) => (count ? `M${n},40V${(40 - 38 * Math.sqrt(count / most)).toFixed(2)}h1V40z` : "")).join("");
    this.distribution = found;
    replace(
      this.bars,
      svg("path", { class: "bars", d: bars }),
      svg("rect", { class: "beyond", x: 0, y: 0, width: within(low), height: 40 }),
      svg("rect", { class: "beyond", x: within(high), y: 0, width: BINS - within(high), height: 40 }),
      ...(hasNone ? [] : [low, high]).map((end) => svg("line", { class: "end", x1: within(end), x2: within(end), y1: 0, y2: 40, "vector-effect": "non-scaling-stroke" })),
    );
    const context = this.strip.getContext("2d");
    const image = context.createImageData(256, 1);
    const table = this.table();
    for (let n = 0; n < 256; n++) {
      image.data.set(table.subarray(3 * n, 3 * n + 3), 4 * n);
      image.data[4 * n + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    replace(this.ends, hasNone ? el("span", {}, "no values") : [low, high].map((end) => el("span", {}, short(end, high - low))));
  }

  // The nearer end of the range goes to where the histogram is touched.
  #drag(event) {
    const { low, high } = this.distribution;
    if (low === high || !this.values.length) return;
    const box = this.bars.getBoundingClientRect();
    const value = low + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (high - low);
    const ends = [...this.range()];
    if (event.type === "pointerdown") {
      this.bars.setPointerCapture(event.pointerId);
      this.held = Math.abs(value - ends[0]) < Math.abs(value - ends[1]) ? 0 : 1;
    }
    const rounded = Number(value.toPrecision(4));
    ends[this.held] = rounded;
    if (ends[0] < ends[1]) this.#change({ range: ends });
  }
}

const isSigned = ([low, high]) => low < 0 && high > 0;
