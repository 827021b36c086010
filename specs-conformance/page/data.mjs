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

// OME-Zarr 0.5: three channels and nothing of them; five axes, of which only the planes around z = 5 are not empty, with labels.
function images(folder) {
  const axes = ["t", "c", "z", "y", "x"].map((name, n) => ({ name, ...[{ type: "time", unit: "second" }, { type: "channel" }, ...Array(3).fill({ type: "space", unit: "micrometer" })][n] }));
  const scale = (...scale) => [{ path: "0", coordinateTransformations: [{ type: "scale", scale }] }];
  const tissue = join(folder, "tissue.zarr");
  group3(tissue, "", {
    ome: {
      version: "0.5", multiscales: [{ name: "tissue", axes, datasets: scale(2, 1, 2, 0.5, 0.5) }],
      omero: { channels: [{ label: "DAPI", color: "0080FF", window: { start: 100, end: 900, min: 0, max: 4095 } }, { label: "actin", color: "FF8000" }], rdefs: { defaultT: 1, defaultZ: 5, model: "color" } },
    },
  });
  const shape = [3, 2, 9, 48, 64];
  const values = new Uint16Array(shape.reduce((a, b) => a * b, 1));
  const labels = new Int32Array(values.length / 2);
  let [at, label] = [0, 0];
  for (let t = 0; t < 3; t++) for (let c = 0; c < 2; c++) for (let z = 0; z < 9; z++) for (let y = 0; y < 48; y++) for (let x = 0; x < 64; x++, at++) {
    const depth = Math.max(0, 1 - Math.abs(z - 5) / 3);
    const cell = Math.max(0, Math.sin((x + 4 * t) / 5) * Math.sin(y / 5));
    values[at] = depth * (c === 0 ? 1200 * cell : 300 * Math.abs(Math.cos(x / 7 + y / 9)) + 7);
    if (c === 0) labels[label++] = depth > 0 && cell > 0.3 ? 1 + Math.floor(x / 16) : 0;
  }
  array3(tissue, "0", "uint16", shape, values, { names: ["t", "c", "z", "y", "x"] });
  group3(tissue, "labels", { ome: { version: "0.5", labels: ["nuclei"] } });
  group3(tissue, "labels/nuclei", {
    ome: {
      version: "0.5", multiscales: [{ name: "nuclei", axes: axes.filter(({ name }) => name !== "c"), datasets: scale(2, 2, 0.5, 0.5) }],
      "image-label": { version: "0.5", colors: [{ "label-value": 1, rgba: [255, 0, 0, 255] }, { "label-value": 2, rgba: [0, 255, 0, 128] }] },
    },
  });
  array3(tissue, "labels/nuclei/0", "int32", [3, 9, 48, 64], labels, { names: ["t", "z", "y", "x"] });
  const plain = join(folder, "plain.zarr");
  group3(plain, "", { ome: { version: "0.5", multiscales: [{ axes: axes.filter(({ name }) => "cyx".includes(name)), datasets: scale(1, 0.2, 0.2) }] } });
  const three = Uint16Array.from({ length: 3 * 40 * 50 }, (_, n) => (n * 7919) % (1000 * (1 + Math.floor(n / 2000))));
  array3(plain, "0", "uint16", [3, 40, 50], three, { names: ["c", "y", "x"] });
}

// CF: pressures fall, and are greater below; heights rise; values with names.
function atmosphere(folder) {
  const air = join(folder, "air.zarr");
  group3(air, "", {});
  const axis = (name, values, attributes) => array3(air, name, "float64", [values.length], Float64Array.from(values), { names: [name], attributes });
  axis("plev", [1000, 850, 700, 500, 300, 200, 100], { units: "hPa", standard_name: "air_pressure", positive: "down" });
  axis("height", [10, 100, 1000, 5000], { units: "m", positive: "up" });
  axis("lat", Array.from({ length: 19 }, (_, n) => 90 - 10 * n), { units: "degrees_north" });
  axis("lon", Array.from({ length: 36 }, (_, n) => -180 + 10 * n), { units: "degrees_east" });
  array3(air, "wind", "float32", [7, 19], Float32Array.from({ length: 133 }, (_, n) => Math.floor(n / 19)), { names: ["plev", "lat"] });
  array3(air, "model", "float32", [7, 19], Float32Array.from({ length: 133 }, (_, n) => Math.floor(n / 19) + (n < 38 ? 2 : 0)), { names: ["plev", "lat"] });
  array3(air, "mast", "float32", [4, 36], Float32Array.from({ length: 144 }, (_, n) => Math.floor(n / 36)), { names: ["height", "lon"] });
  array3(air, "land", "uint8", [19, 36], Uint8Array.from({ length: 684 }, (_, n) => [0, 10, 20][Math.floor(n / 7) % 3]), {
    names: ["lat", "lon"], attributes: { flag_values: [0, 10, 20], flag_meanings: "water forest desert", flag_colors: "#0000ff #00a000 #ffd080" },
  });
}

// A plate of 2 × 3 wells, of which three have fields, of two acquisitions. Fields of A3 are half as bright as those of A1.
function plate(folder) {
  const place = join(folder, "plate.zarr");
  const wells = { "A/1": [0, 0, 3], "A/3": [0], "B/2": [3] };
  const names = (names) => names.map((name) => ({ name }));
  group3(place, "", {
    ome: {
      version: "0.5",
      plate: {
        version: "0.5", name: "screen", field_count: 3, rows: names(["A", "B"]), columns: names(["1", "2", "3"]),
        acquisitions: [{ id: 0, name: "day 1", maximumfieldcount: 2 }, { id: 3, name: "day 2", maximumfieldcount: 1 }],
        wells: Object.keys(wells).map((path) => ({ path, rowIndex: "AB".indexOf(path[0]), columnIndex: "123".indexOf(path[2]) })),
      },
    },
  });
  for (const row of ["A", "B"]) group3(place, row);
  const axes = [{ name: "c", type: "channel" }, ...["y", "x"].map((name) => ({ name, type: "space", unit: "micrometer" }))];
  for (const [path, acquisitions] of Object.entries(wells)) {
    group3(place, path, { ome: { version: "0.5", well: { images: acquisitions.map((acquisition, n) => ({ path: String(n), acquisition })) } } });
    acquisitions.forEach((_, field) => {
      group3(place, `${path}/${field}`, { ome: { version: "0.5", multiscales: [{ name: `${path}/${field}`, axes, datasets: [{ path: "0", coordinateTransformations: [{ type: "scale", scale: [1, 0.5, 0.5] }] }] }] } });
      const most = path === "A/3" ? 500 : 1000;
      const values = Uint16Array.from({ length: 2 * 64 * 64 }, (_, n) => most * Math.abs(Math.sin((n % 64) / (6 + field)) * Math.cos(Math.floor(n / 64) / 9)));
      array3(place, `${path}/${field}/0`, "uint16", [2, 64, 64], values, { names: ["c", "y", "x"] });
    });
  }
}

// `sea.zarr`: a packed sea temperature on a map; `cells.zarr`: an OME image of two channels; `odd.zarr`: hostile names and types;
// `tissue.zarr`: an image of five axes with labels; `plain.zarr`: an image that says nothing of its channels; `air.zarr`: a section through
// the atmosphere, and kinds of land; `plate.zarr`: a plate.
export const NAMES = ["sea.zarr", "cells.zarr", "odd.zarr", "tissue.zarr", "plain.zarr", "air.zarr", "plate.zarr"];

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

  images(folder);
  atmosphere(folder);
  plate(folder);

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
