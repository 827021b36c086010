// The controls of colours: map, range, logarithm, histogram, names of values.

import { el, replace, select, button } from "./dom.js";
import { range, sorted } from "./colour.js";
import { Distribution } from "./distribution.js";
import { short } from "./number.js";

const CHOICES = [["2,98%", "2 % – 98 %"], ["0.1,99.9%", "0.1 % – 99.9 %"], ["full", "all values"], ["manual", "chosen"]];
const DECLARED = ["declared", "as the image says"];

export class Colours {
  // `maps` are `{name: bytes}`; `settings` are `{map, plain, signed, range, held, keep, log, reversed, labels}`: without a `map` values on
  // both sides of 0 get the `signed` one, others the `plain` one; `keep` says what becomes of a computed range when another plane is
  // shown: it stays (`lock`, it is `held`), is that of the new `plane`, or of `all`. `names` are `[value, name]`; with `hasDeclared` the image says a range, which
  // is put into `declared`. `onChange()` is told.
  constructor(maps, settings, { labelColours, names, hasDeclared }, onChange) {
    Object.assign(this, { maps, settings, labelColours, declared: null, onChange });
    this.values = new Float64Array();
    this.map = select("Colour map", [["", "automatic"], ...Object.keys(maps).map((name) => [name, name])], settings.map, (map) => this.#change({ map }));
    const choices = hasDeclared ? [DECLARED, ...CHOICES] : CHOICES;
    this.choice = select("Range of the colours", choices, settings.range, (choice) => this.#change({ range: choice === "manual" ? this.range() : choice, held: null }));
    this.distribution = new Distribution("the colours", (ends) => this.#change({ range: ends, held: null }));
    const check = (label, key) => {
      const box = el("input", { type: "checkbox", onchange: () => this.#change({ [key]: box.checked, ...(key === "log" && { held: null }) }) });
      this[key] = box;
      return el("label", { class: "check" }, box, label);
    };
    this.strip = el("canvas", { class: "strip", width: 256, height: 1, "aria-hidden": "true" });
    this.ends = el("div", { class: "ends" });
    this.scale = el(
      "div", {},
      el("div", { class: "distribution" }, this.distribution.bars, this.strip, this.ends),
      el("div", { class: "row" }, this.choice),
      this.distribution.numbers,
    );
    const name = ([value, text]) => {
      const patch = el("span", { class: "patch", "aria-hidden": "true" });
      patch.style.backgroundColor = `#${(labelColours.get(value) ?? "").slice(0, 6)}`;
      return el("li", {}, patch, el("span", {}, text), el("span", { class: "quiet" }, short(value)));
    };
    this.names = el("ul", { class: "names", "aria-label": "Names of values", tabindex: 0 }, names.map(name));
    this.element = el(
      "fieldset", { class: "colours" }, el("legend", {}, "Colours"),
      el("div", { class: "row" }, this.map, button("Reverse the colours", () => this.#change({ reversed: !this.settings.reversed }), { icon: "flip" })),
      this.scale, names.length ? this.names : null,
      el("div", { class: "row" }, check("logarithmic", "log"), check(names.length ? "by name" : "as labels", "labels")),
    );
    this.refresh();
  }

  #change(changes) {
    Object.assign(this.settings, changes);
    this.refresh();
    this.onChange(changes);
  }

  // The values that are seen: what ranges are computed from. `position` says which plane they are of.
  see(values, position) {
    const { keep, range } = this.settings;
    const isOther = this.position !== undefined && this.position !== position;
    if (isOther && keep === "lock" && !Array.isArray(range) && !this.settings.held && !this.hasNone()) {
      this.settings.held = this.range();
      this.onChange({ held: this.settings.held });
    }
    this.position = position;
    this.values = sorted(values);
    this.refresh();
  }

  // Other axes have another range.
  forget() {
    this.position = undefined;
    this.all = null;
    if (this.settings.held) this.#change({ held: null });
  }

  // The values of all planes, or of some of them.
  seeAll(values) {
    this.all = values && sorted(values);
    this.refresh();
  }

  // The values that have a colour: a logarithm has no place for what is not positive.
  #known() {
    const values = (this.settings.keep === "all" && this.all) || this.values;
    const from = this.settings.log ? values.findIndex((value) => value > 0) : 0;
    return from < 0 ? new Float64Array() : values.subarray(from);
  }

  // Whether a range is computed, and there is no value to compute it from.
  hasNone() {
    const { range, held } = this.settings;
    return !Array.isArray(range) && !held && !(range === "declared" && this.declared) && !this.#known().length;
  }

  range() {
    const { log, held } = this.settings;
    const chosen = this.settings.range === "declared" ? (this.declared ?? "2,98%") : this.settings.range;
    if (held && !Array.isArray(chosen)) return held;
    const values = this.#known();
    const found = range(chosen, values);
    if (log) return found[0] <= 0 ? [Math.max(values[0] ?? 1e-3, 1e-300), Math.max(found[1], 1e-299)] : found;
    if (!this.settings.map && !Array.isArray(chosen) && isSigned(found)) {
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
    return { colours: this.table(), low, high, log: this.settings.log, isLabels: this.settings.labels, own: this.labelColours };
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
    this.scale.hidden = Boolean(settings.labels);
    this.names.hidden = !settings.labels;
    const [low, high] = this.range();
    const hasNone = this.hasNone();
    this.distribution.show(this.values, [low, high], { isExact: isChosen, hasNone });
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
}

const isSigned = ([low, high]) => low < 0 && high > 0;
