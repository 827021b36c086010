// Tests of the page's modules that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";

const files = new URL("../../crates/zarr-serve/src/page/files/", import.meta.url);
const { blend, cover, histogram, mix, paint, percentile, range, reduced, sorted, table } = await import(new URL("colour.js", files));
const { format, parse } = await import(new URL("state.js", files));
const { degrees, scaleBar, short, steps } = await import(new URL("number.js", files));
const { angle } = await import(new URL("axes.js", files));
const { decode } = await import(new URL("coast.js", files));
const { fieldsOf, next } = await import(new URL("plate.js", files));

test("percentiles are those of NumPy", () => {
  // np.percentile([1, 2, 4, 5, 7, 9], [10, 75])
  const values = sorted([5, 1, NaN, 9, 2, Infinity, 4, 7]);
  assert.deepEqual([...values], [1, 2, 4, 5, 7, 9]);
  assert.equal(percentile(values, 10), 1.5);
  assert.equal(percentile(values, 75), 6.5);
  assert.deepEqual(range("full", values), [1, 9]);
  assert.deepEqual(range([3, 4], values), [3, 4]);
});

// The numbers of zarr-plot's own test, `blocks_become_means_or_their_middle`.
test("blocks become their means, or labels their middle", () => {
  const values = Float32Array.from({ length: 20 }, (_, n) => n || NaN);
  const mean = reduced({ values, width: 5, height: 4 }, 2, 2, false);
  assert.deepEqual([mean.width, mean.height, [...mean.values]], [3, 2, [4, 5, 6.5, 13, 15, 16.5]]);
  const middle = reduced({ values: values.subarray(0, 9), width: 3, height: 3 }, 3, 3, true);
  assert.deepEqual([...middle.values], [4]);
  assert.deepEqual([...reduced({ values: Float64Array.of(NaN, NaN), width: 2, height: 1 }, 2, 1, false).values], [NaN]);
});

test("a colour is the whole part of 256 times the place", () => {
  const colours = table(Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0").repeat(3)).join(""));
  const values = Float64Array.of(-1, 0, 0.999, 1, 255.9, 256, Infinity, -Infinity, NaN);
  const out = new Uint8ClampedArray(4 * values.length);
  paint(values, out, { colours, low: 0, high: 256 });
  const found = Array.from(values, (_, n) => (out[4 * n + 3] ? out[4 * n] : null));
  assert.deepEqual(found, [0, 0, 0, 1, 255, 255, 255, 0, null]);
  paint(Float64Array.of(10, 0), out, { colours, low: 1, high: 100, log: true });
  assert.deepEqual([out[0], out[7]], [128, 0]);
});

test("channels add up", () => {
  const out = new Uint8ClampedArray(8);
  mix([{ values: [0, 5], low: 0, high: 10, colour: [255, 0, 0] }, { values: [10, 20], low: 0, high: 10, colour: [0, 255, 0] }], out);
  assert.deepEqual([...out], [0, 255, 0, 255, 128, 255, 0, 255]);
});

test("a sum of channels is rounded once, and inverted ones are bright where values are low", () => {
  const out = new Uint8ClampedArray(8);
  const half = { values: [0.5, NaN], low: 0, high: 1, colour: [1, 3, 200] };
  mix([half, half, { ...half, inverted: true, colour: [0, 0, 255] }], out);
  assert.deepEqual([...out], [1, 3, 255, 255, 0, 0, 0, 255]);
});

test("colours that are missing in all parts are transparent", () => {
  const part = (values) => ({ values, low: 0, high: 255 });
  const out = new Uint8ClampedArray(12);
  blend([part([NaN, NaN, 7]), part([NaN, 9, 8]), null, null], out);
  assert.deepEqual([...out], [0, 0, 0, 0, 0, 9, 0, 255, 7, 8, 0, 255]);
  blend([part([1, 2, 3]), part([1, 2, 3]), part([1, 2, 3]), part([0, 100, NaN])], out);
  assert.deepEqual([out[3], out[7], out[11]], [0, 100, 0]);
});

// The numbers of zarr-plot's own test, `labels_are_over_an_image_by_their_opacity`.
test("labels are over an image by their opacity", () => {
  const out = Uint8ClampedArray.of(100, 100, 100, 255, 10, 20, 30, 255);
  cover([0, 7], out, new Map([[7, "c8c8c8ff"]]), 0.5);
  assert.deepEqual([...out], [100, 100, 100, 255, 105, 110, 115, 255]);
});

test("a scale bar has a round length", () => {
  const texts = [3.4e-6, 0.00019, 2e-9, 7300, 1, 1.2e-13].map((most) => scaleBar(most).text);
  assert.deepEqual(texts, ["2 µm", "100 µm", "2 nm", "5 km", "1 m", "0.1 pm"]);
});

test("coasts are read as the program reads them", async () => {
  const { readFileSync } = await import("node:fs");
  const lines = decode(readFileSync(new URL("../../crates/zarr-plot/src/picture/coast.bin", import.meta.url)));
  const points = lines.flat();
  assert.deepEqual([lines.length, points.length], [128, 5118]);
  assert.ok(points.every(([lon, lat]) => Math.abs(lon) <= 180 && lat > -85.61 && lat < 84));
  assert.ok(points.some(([lon, lat]) => Math.hypot(lon - 20, lat + 34.8) < 1.5), "Cape Agulhas");
});

test("a histogram has all values", () => {
  const { counts } = histogram(sorted([0, 1, 2, 3, 4]), 2);
  assert.deepEqual(counts, [2, 3]);
});

test("a link is read back", () => {
  const state = { place: ["x.zarr", "a b%20c", "<i>&?#/ü"], tab: "chunks", x: 2, y: 0, at: [1, 0, 5], range: [-1.5, 2e-7], view: [1, 2, 3], map: "magma", log: "1", held: [0.5, 7], windows: "0:1:2,3:auto" };
  assert.deepEqual(parse(format(state)), state);
  assert.deepEqual(parse(format({ place: [], range: "2,98%" })), { place: [], range: "2,98%" });
});

test("a broken link is no error", () => {
  for (const text of ["#", "#/%E0%A4%A/x", "#/x?at=1,b&x=-1&range=a,b&place=z&__proto__=1&view=,,", "#/?&&=", "#////"]) {
    const state = parse(text);
    assert.ok(Array.isArray(state.place));
    assert.equal(state.at ?? state.x ?? state.range, undefined);
  }
});

test("numbers are short, and ticks are round", () => {
  assert.deepEqual([short(-3), short(0.1 + 0.2), short(1e-9), short(NaN), short(123456789.5)], ["−3", "0.3", "1e-9".replace("-", "−"), "missing", "1.235e8"]);
  assert.deepEqual(steps(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  // One number tells of no scale.
  assert.deepEqual(steps(0, 4999, 2.3), [0, 2000, 4000]);
  assert.deepEqual(degrees(-90, 90, 6), [-90, -60, -30, 0, 30, 60, 90]);
  assert.deepEqual([angle(-45, "lat"), angle(190, "lon"), angle(180, "lon"), angle(0, "lat")], ["45°S", "170°W", "180°", "0°"]);
});

test("arrows go to the next well that has something", () => {
  const places = [[0, 0], [0, 2], [3, 0], [1, 2]];
  assert.deepEqual(next(places, [0, 0], [0, 1]), [0, 2]);
  assert.deepEqual(next(places, [0, 0], [1, 0]), [3, 0]);
  assert.deepEqual(next(places, [1, 2], [-1, 0]), [0, 2]);
  assert.equal(next(places, [1, 2], [0, -1]), undefined);
});

test("fields are counted within an acquisition, or all together", () => {
  const well = { fields: [{ path: "0", acquisition: 1 }, { path: "1", acquisition: 2 }, { path: "2", acquisition: 2 }] };
  assert.deepEqual(fieldsOf(well, null).map(({ path }) => path), ["0", "1", "2"]);
  assert.deepEqual(fieldsOf(well, 2).map(({ path }) => path), ["1", "2"]);
  assert.deepEqual(fieldsOf(well, 9), []);
});
