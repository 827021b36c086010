// From values to colours: ranges, percentiles, histograms. The same arithmetic as `zarr plot`: `floor(256 · t)`, at most 255.

// 256 × 3 bytes of a table in hexadecimal digits.
export function table(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let n = 0; n < bytes.length; n++) bytes[n] = parseInt(hex.slice(2 * n, 2 * n + 2), 16);
  return bytes;
}

// The finite values in ascending order.
export function sorted(values) {
  let count = 0;
  const found = new Float64Array(values.length);
  for (const value of values) if (Number.isFinite(value)) found[count++] = value;
  return found.subarray(0, count).sort();
}

// The percentile of sorted values, NumPy's `linear`.
export function percentile(values, percent) {
  const last = values.length - 1;
  if (last < 0) return NaN;
  const at = (percent / 100) * last;
  const below = Math.floor(at);
  const above = Math.min(below + 1, last);
  return values[below] + (values[above] - values[below]) * (at - below);
}

// Values of blocks of `across` × `down`: the mean of those that are finite, or of labels the one in the middle, as `zarr plot` has them.
export function reduced({ values, width, height }, across, down, isNearest) {
  if (across === 1 && down === 1) return { values, width, height };
  const size = [Math.ceil(width / across), Math.ceil(height / down)];
  const out = new Float64Array(size[0] * size[1]);
  for (let row = 0; row < size[1]; row++) {
    const rows = [row * down, Math.min(height, (row + 1) * down)];
    for (let column = 0; column < size[0]; column++) {
      const columns = [column * across, Math.min(width, (column + 1) * across)];
      let [sum, count] = [0, 0];
      if (isNearest) {
        [sum, count] = [values[Math.floor((rows[0] + rows[1]) / 2) * width + Math.floor((columns[0] + columns[1]) / 2)], 1];
      } else {
        for (let y = rows[0]; y < rows[1]; y++) {
          for (let x = columns[0]; x < columns[1]; x++) if (Number.isFinite(values[y * width + x])) [sum, count] = [sum + values[y * width + x], count + 1];
        }
      }
      out[row * size[0] + column] = sum / count;
    }
  }
  return { values: out, width: size[0], height: size[1] };
}

// `[lowest, highest]` of a choice: `full`, `2,98%`, or `[lo, hi]` as it is.
export function range(choice, values) {
  if (Array.isArray(choice)) return choice;
  if (!values.length) return [0, 1];
  const found = choice === "full" ? [values[0], values[values.length - 1]] : percentages(choice).map((percent) => percentile(values, percent));
  // Percentiles of mostly one value say nothing.
  return found[0] === found[1] ? [values[0], values[values.length - 1]] : found;
}

const percentages = (choice) => {
  const found = String(choice).replaceAll("%", "").split(",").map(Number);
  return found.length === 2 && found.every((percent) => percent >= 0 && percent <= 100) ? found : [2, 98];
};

// How many values are in each of `bins` equal parts between the lowest and the highest.
export function histogram(values, bins) {
  const counts = new Array(bins).fill(0);
  const [low, high] = [values[0], values[values.length - 1]];
  if (!values.length || low === high) return { low, high, counts };
  const scale = bins / (high - low);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value - low) * scale))]++;
  return { low, high, counts };
}

// Where a value is between the ends: 0 at the lowest, 1 at the highest. Values of 32 bits have places of 32 bits.
function placer({ low, high, log, isSingle }) {
  if (low === high) return (value) => (Number.isNaN(value) || (log && value <= 0) ? NaN : 0);
  if (log) return (value) => (value > 0 ? Math.log(value / low) / Math.log(high / low) : NaN);
  const width = high - low;
  if (isSingle) return (value) => Math.fround(Math.fround(value - low) / width);
  return (value) => (value - low) / width;
}

// Colours for values, four bytes each; what is missing is transparent, what is beyond the range has the colour of its end.
export function paint(values, out, { colours, isLabels, own, ...ends }) {
  const place = placer(ends);
  for (let n = 0, at = 0; n < values.length; n++, at += 4) {
    const value = values[n];
    if (isLabels) {
      labelColour(value, own, out, at);
      continue;
    }
    const t = value === Infinity ? 1 : value === -Infinity ? 0 : place(value);
    if (Number.isNaN(t)) {
      out[at + 3] = 0;
      continue;
    }
    const index = 3 * Math.max(0, Math.min(255, Math.floor(256 * t)));
    out[at] = colours[index];
    out[at + 1] = colours[index + 1];
    out[at + 2] = colours[index + 2];
    out[at + 3] = 255;
  }
}

// Each label has the colour that is its `own`, `rrggbbaa` by the label, or one that differs from its neighbours'; 0 is nothing.
function labelColour(label, own, out, at) {
  const given = own?.get(label);
  if (given) {
    for (let n = 0; n < 4; n++) out[at + n] = parseInt(given.slice(2 * n, 2 * n + 2), 16);
    return;
  }
  if (!(label !== 0) || Number.isNaN(label)) {
    out[at + 3] = 0;
    return;
  }
  // Hues a golden angle apart, in three lightnesses.
  const n = Math.abs(label) % 1e9;
  const hue = ((n * 0.618033988749895) % 1) * 6;
  const value = [1, 0.78, 0.9][Math.floor(n % 3)];
  const saturation = [0.62, 0.85, 0.45][Math.floor((n / 3) % 3)];
  const part = (from) => {
    const k = (from + hue) % 6;
    return Math.round((value - value * saturation * Math.max(0, Math.min(1, k, 4 - k))) * 255);
  };
  out[at] = part(5);
  out[at + 1] = part(3);
  out[at + 2] = part(1);
  out[at + 3] = 255;
}

// Adds the colours of channels: `parts` are `{values, low, high, colour: [r, g, b], inverted, isSingle}` of one size. What is missing
// adds nothing.
export function mix(parts, out) {
  const places = parts.map(placer);
  for (let n = 0, at = 0; at < out.length; n++, at += 4) {
    let [red, green, blue] = [0, 0, 0];
    for (let part = 0; part < parts.length; part++) {
      const { values, colour, inverted } = parts[part];
      const place = places[part](values[n]);
      if (Number.isNaN(place)) continue;
      const within = Math.max(0, Math.min(1, place));
      const light = inverted ? 1 - within : within;
      red += light * colour[0];
      green += light * colour[1];
      blue += light * colour[2];
    }
    // What is put into such an array is rounded to even.
    out[at] = Math.round(red);
    out[at + 1] = Math.round(green);
    out[at + 2] = Math.round(blue);
    out[at + 3] = 255;
  }
}

// Red, green and blue as they are, and perhaps opacity: `parts` as of `mix`, `null` for what is hidden. What is missing in all of them is
// transparent.
export function blend(parts, out) {
  const places = parts.map((part) => part && placer(part));
  const byte = (part, n) => {
    if (!parts[part]) return null;
    const place = places[part](parts[part].values[n]);
    return Number.isNaN(place) ? null : Math.round(Math.max(0, Math.min(1, place)) * 255);
  };
  for (let n = 0, at = 0; at < out.length; n++, at += 4) {
    const [red, green, blue] = [byte(0, n), byte(1, n), byte(2, n)];
    out[at] = red ?? 0;
    out[at + 1] = green ?? 0;
    out[at + 2] = blue ?? 0;
    out[at + 3] = red === null && green === null && blue === null ? 0 : parts[3] ? (byte(3, n) ?? 0) : 255;
  }
}

// Puts labels over pixels, opaque ones with this opacity.
export function cover(values, out, own, opacity) {
  const over = new Uint8ClampedArray(4);
  for (let n = 0, at = 0; at < out.length; n++, at += 4) {
    // Most of an image is no object.
    if (values[n] === 0 && !own.has(0)) continue;
    labelColour(values[n], own, over, 0);
    const part = (over[3] / 255) * opacity;
    if (part === 0) continue;
    const under = (out[at + 3] / 255) * (1 - part);
    const whole = part + under;
    for (let n = 0; n < 3; n++) out[at + n] = Math.round((over[n] * part + out[at + n] * under) / whole);
    out[at + 3] = Math.round(whole * 255);
  }
}
