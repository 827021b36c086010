// Numbers for people.

// As many digits as tell the values of a span of `span` apart.
export function short(value, span) {
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "missing" : value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return minus(value);
  const size = Math.abs(value);
  if (span > 0 && size < 1e7 && size >= 1e-4) {
    const digits = Math.max(0, Math.min(8, 3 - Math.floor(Math.log10(span))));
    return minus(trim(value.toFixed(digits)));
  }
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return minus(value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e"));
  return minus(trim(value.toPrecision(6)));
}

// A number's text with at most 8 significant digits, as NumPy and `zarr get` show it; digits before the point stay.
export function plain(text) {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return text;
  if (Number.isInteger(number)) return minus(text);
  const short = Math.abs(number) < 1e8 ? String(Number(number.toPrecision(8))) : number.toFixed(0);
  return minus(short.length < text.length ? short : text);
}

const trim = (text) => (text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text);
export const minus = (text) => String(text).replace("-", "−");

// `1,234,567`.
export const count = (number) => Number(number).toLocaleString("en-US");

// `1.5 KiB`.
export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  while (bytes >= 1023.95 && unit + 1 < units.length) {
    bytes /= 1024;
    unit++;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

// `365 × 180 × 360`.
export const times = (shape) => (shape.length ? shape.map(count).join(" × ") : "scalar");

// Round steps between two numbers, about `wanted` of them.
export function steps(low, high, wanted) {
  const span = Math.abs(high - low);
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const nice = [0.2, 0.5, 1, 2, 5, 10].map((n) => n * power);
  const chosen = nice.findIndex((step) => step >= raw * 0.999);
  const found = multiples(nice[chosen], low, high);
  // One number tells of no scale.
  return found.length > 1 ? found : multiples(nice[chosen - 1], low, high);
}

function multiples(step, low, high) {
  const found = [];
  for (let n = Math.ceil(Math.min(low, high) / step - 1e-9); n * step <= Math.max(low, high) + step * 1e-9; n++) {
    found.push(Number((n * step).toPrecision(12)));
    if (found.length > 100) break;
  }
  return found;
}

const LENGTHS = [[1e3, "km"], [1, "m"], [1e-3, "mm"], [1e-6, "µm"], [1e-9, "nm"], [1e-12, "pm"]];

// The longest of 1, 2, 5 × 10^n metres that is at most `most`, and its text.
export function scaleBar(most) {
  const power = 10 ** Math.floor(Math.log10(most) + 1e-9);
  const length = power * [5, 2, 1].find((n) => n * power <= most * (1 + 1e-9));
  const [unit, name] = LENGTHS.find(([unit]) => length >= unit * 0.999) ?? LENGTHS[LENGTHS.length - 1];
  return { length, text: `${Number((length / unit).toPrecision(3))} ${name}` };
}

// Signs of units whose names OME-Zarr spells out.
const UNITS = { micrometer: "µm", micron: "µm", um: "µm", nanometer: "nm", millimeter: "mm", centimeter: "cm", kilometer: "km", meter: "m", angstrom: "Å", picometer: "pm" };
export const unit = (name) => UNITS[name] ?? name;

// Steps that divide degrees as maps do.
export function degrees(low, high, wanted) {
  const span = Math.abs(high - low);
  const step = [1, 2, 5, 10, 15, 30, 45, 60, 90].find((step) => span / step <= wanted + 1);
  if (!step || span < 4) return steps(low, high, wanted);
  const found = [];
  for (let n = Math.ceil(Math.min(low, high) / step); n * step <= Math.max(low, high); n++) found.push(n * step);
  return found;
}
