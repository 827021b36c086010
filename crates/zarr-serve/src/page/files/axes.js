// The axes of an array: their names, and the coordinate of each index, asked for in blocks.

import { json } from "./api.js";
import { count, short, steps, degrees, unit } from "./number.js";

const BLOCK = 1000;
// Longer axes have coordinates by blocks only, and ticks at round indices.
const WHOLE = 10000;

export class Axis {
  // `path` of the array, `number` and what the server says of the axis: `{name, size, units, kind, has_coordinates}`.
  constructor(path, number, about, changed) {
    Object.assign(this, about);
    this.path = path;
    this.number = number;
    this.changed = changed;
    this.texts = new Map();
    this.values = null;
    this.blocks = new Set();
  }

  // The text of an index's coordinate, with units; nothing if it has none or it is not yet here.
  label(index) {
    if (!this.has_coordinates) return null;
    const text = this.texts.get(index);
    if (text === undefined) this.#load(index);
    return text ?? null;
  }

  // The coordinate with its units.
  full(index) {
    const text = this.label(index);
    if (text === null) return null;
    if ((this.kind === "lat" || this.kind === "lon") && Number.isFinite(Number(text))) return angle(Number(text), this.kind);
    if (this.kind === "time") return text.replace("T", " ");
    return this.units && this.kind !== "time" ? `${text} ${unit(this.units)}` : text;
  }

  async #load(index) {
    const isWhole = this.size <= WHOLE;
    const block = isWhole ? 0 : Math.floor(index / BLOCK);
    if (this.blocks.has(block)) return;
    this.blocks.add(block);
    const from = block * BLOCK;
    const count = isWhole ? this.size : Math.min(BLOCK, this.size - from);
    try {
      const found = await json("axis", { path: this.path, axis: this.number, from, count });
      found.texts.forEach((text, n) => this.texts.set(from + n, text));
      if (isWhole && found.values && isMonotonic(found.values)) this.values = found.values;
      this.changed();
    } catch {
      // The index is shown in its place. A later look asks again.
      setTimeout(() => this.blocks.delete(block), 5000);
    }
  }

  // `{at, text}` for a picture that shows the indices `from..to`, where an element's middle is at its index + ½.
  ticks(from, to, wanted) {
    const [first, last] = [Math.max(0, Math.floor(from)), Math.min(this.size - 1, Math.ceil(to) - 1)];
    if (last < first) return [];
    this.label(first);
    if (this.values && this.kind !== "time" && last > first) {
      const [low, high] = [this.values[first], this.values[last]];
      const isAngle = this.kind === "lat" || this.kind === "lon";
      const span = Math.abs(high - low);
      const found = (isAngle ? degrees : steps)(low, high, wanted);
      return found.map((value) => ({ at: this.place(value) + 0.5, text: isAngle ? angle(value, this.kind) : short(value, span / wanted) }));
    }
    const whole = steps(first, last, wanted).filter((n) => Number.isInteger(n) && n <= last);
    const texts = whole.map((index) => this.label(index));
    return whole.map((index, n) => ({ at: index + 0.5, text: brief(texts, n) ?? count(index) }));
  }

  // Where among the indices a coordinate is: between two of them in proportion, and beyond the ends, too.
  place(value) {
    const values = this.values;
    const sign = values[values.length - 1] >= values[0] ? 1 : -1;
    let [low, high] = [0, values.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (sign * values[middle] <= sign * value) low = middle;
      else high = middle;
    }
    const span = values[high] - values[low];
    return span ? low + (value - values[low]) / span : low;
  }
}

// A text without what all have: dates whose times are all midnight are days.
function brief(texts, n) {
  if (texts[n] === null) return null;
  const known = texts.filter((text) => text !== null);
  if (known.every((text) => /T00:00:00(\.0+)?$/.test(text))) return texts[n].split("T")[0];
  const number = Number(texts[n]);
  return texts[n] !== "" && Number.isFinite(number) ? short(number) : texts[n].replace("T", " ");
}

function isMonotonic(values) {
  if (values.length < 2 || !values.every((value) => typeof value === "number")) return false;
  const sign = Math.sign(values[1] - values[0]);
  return sign !== 0 && values.every((value, n) => n === 0 || Math.sign(value - values[n - 1]) === sign);
}

// `30°N`, `120°W`.
export function angle(value, kind) {
  let turned = value;
  if (kind === "lon" && value > 180) turned = value - 360;
  const sides = kind === "lat" ? ["N", "S"] : ["E", "W"];
  const side = turned === 0 || Math.abs(turned) === 180 ? "" : turned > 0 ? sides[0] : sides[1];
  return `${short(Math.abs(turned))}°${side}`;
}
