// Makes the data of the tests: documents and raw chunks, by no library.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function put(folder, key, content) {
  const path = join(folder, ...key.split("/"));
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content));
}

const bytesOf = (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

export function group3(folder, path, attributes = {}) {
  put(folder, `${path ? `${path}/` : ""}zarr.json`, { zarr_format: 3, node_type: "group", attributes });
}

// An array of v3 in one chunk, little-endian.
export function array3(folder, path, type, shape, values, { names, attributes = {}, fill = 0, chunks } = {}) {
  const document = {
    zarr_format: 3, node_type: "array", shape, data_type: type, fill_value: fill, attributes,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunks ?? shape } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    codecs: [{ name: "bytes", configuration: { endian: "little" } }],
  };
  if (names) document.dimension_names = names;
  put(folder, `${path}/zarr.json`, document);
  if (values) put(folder, `${path}/c${shape.map(() => "/0").join("")}`, bytesOf(values));
}

export function group2(folder, path, attributes = {}) {
  put(folder, `${path ? `${path}/` : ""}.zgroup`, { zarr_format: 2 });
  put(folder, `${path ? `${path}/` : ""}.zattrs`, attributes);
}

export function array2(folder, path, dtype, shape, values, attributes = {}) {
  put(folder, `${path}/.zarray`, { zarr_format: 2, shape, chunks: shape, dtype, compressor: null, fill_value: 0, order: "C", filters: null });
  put(folder, `${path}/.zattrs`, attributes);
  put(folder, `${path}/${shape.map(() => "0").join(".") || "0"}`, bytesOf(values));
}

export const HOSTILE = ["<img src=x onerror=window.pwned=1>", "quotes\"' & ampersand", "a b%20c", "javascript:alert(1)", "ünïcode"];

// `sea.zarr`: a packed sea temperature on a map; `cells.zarr`: an OME image of two channels; `odd.zarr`: hostile names and types.
export function make(folder) {
  const sea = join(folder, "sea.zarr");
  const [times, lats, lons] = [6, 37, 72];
  group3(sea, "", { title: "A sea, made up" });
  const axis = (name, values, attributes) => array3(sea, name, "float64", [values.length], Float64Array.from(values), { names: [name], attributes });
  axis("time", Array.from({ length: times }, (_, n) => 31 * n), { units: "days since 2001-01-01", calendar: "noleap", standard_name: "time" });
  axis("lat", Array.from({ length: lats }, (_, n) => -90 + 5 * n), { units: "degrees_north", standard_name: "latitude" });
  axis("lon", Array.from({ length: lons }, (_, n) => 5 * n), { units: "degrees_east", standard_name: "longitude" });
  const temperature = new Int16Array(times * lats * lons);
  const depth = new Float32Array(lats * lons);
  for (let t = 0; t < times; t++) for (let y = 0; y < lats; y++) for (let x = 0; x < lons; x++) {
    const isLand = Math.sin(x / 9) * Math.cos(y / 6) > 0.55;
    const value = 28 * Math.cos(((y - 18) / 18) * 1.5) + 4 * Math.sin(t + x / 8);
    temperature[(t * lats + y) * lons + x] = isLand ? -32768 : Math.round(value * 100);
    depth[y * lons + x] = isLand ? NaN : 4000 * Math.abs(Math.sin(x / 5 + y / 7)) + 0.1;
  }
  array3(sea, "temperature", "int16", [times, lats, lons], temperature, {
    names: ["time", "lat", "lon"], attributes: { units: "degC", long_name: "temperature of the sea", scale_factor: 0.01, add_offset: 0, _FillValue: -32768 },
  });
  array3(sea, "depth", "float32", [lats, lons], depth, { names: ["lat", "lon"], attributes: { units: "m" }, fill: "NaN" });
  array3(sea, "mean", "float64", [times], Float64Array.from([1, 2.5, 2, 4, NaN, 3]), { names: ["time"], attributes: { units: "degC" } });
  array3(sea, "holes", "uint8", [40, 40], null, { chunks: [10, 10] });
  put(sea, "holes/c/1/2", new Uint8Array(100).fill(7));
  array3(sea, "huge", "float32", [1e6, 1e6], null, { chunks: [1000, 1000], fill: 3 });

  const cells = join(folder, "cells.zarr");
  const sizes = [1024, 512, 256];
  const path = (n) => ({ path: String(n), coordinateTransformations: [{ type: "scale", scale: [1, 0.5 * 2 ** n, 0.5 * 2 ** n] }] });
  const channel = (label, color) => ({ label, color, active: true, window: { start: 0, end: 60000, min: 0, max: 65535 } });
  group2(cells, "", {
    multiscales: [{
      version: "0.4", datasets: sizes.map((_, n) => path(n)),
      axes: [{ name: "c", type: "channel" }, { name: "y", type: "space", unit: "micrometer" }, { name: "x", type: "space", unit: "micrometer" }],
    }],
    omero: { channels: [channel("DNA", "4080FF"), channel("membrane", "FFA000")] },
  });
  sizes.forEach((size, n) => {
    const values = new Uint16Array(2 * size * size);
    const step = 1024 / size;
    for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
      const [a, b] = [x * step, y * step];
      const wave = Math.sin(a / 31) * Math.sin(b / 37);
      values[y * size + x] = Math.max(0, wave) ** 3 * 60000;
      values[size * size + y * size + x] = Math.max(0, 1 - Math.abs(wave - 0.4) * 9) * 50000;
    }
    array2(cells, String(n), "<u2", [2, size, size], values);
  });

  const odd = join(folder, "odd.zarr");
  const evil = "<img src=x onerror=window.pwned=1>";
  group2(odd, "", { evil, nested: { list: [{ "<script>window.pwned=1</script>": [evil] }] } });
  for (const name of HOSTILE) {
    const values = Int32Array.from({ length: 600 }, (_, n) => n);
    array2(odd, name, "<i4", [20, 30], values, { long_name: evil, units: evil, _ARRAY_DIMENSIONS: [evil, "x"] });
  }
  array2(odd, "scalar", "<f8", [], Float64Array.of(42.5));
  array2(odd, "texts", "|S4", [2], new TextEncoder().encode("abc\0<b>x"));
  array2(odd, "big", "<u8", [2, 2], BigUint64Array.of(18446744073709551615n, 1n, 2n, 3n));
  array2(odd, "colours", "|u1", [16, 16, 3], Uint8Array.from({ length: 768 }, (_, n) => (n * 7) % 256));
  array2(odd, "nothing", "<f4", [8, 9], new Float32Array(72).fill(NaN));
  array2(odd, "no line", "<f4", [8], new Float32Array(8).fill(NaN));
  put(odd, "broken/.zarray", "{");
}
