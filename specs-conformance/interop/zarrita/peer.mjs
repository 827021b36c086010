// Reads and writes nodes with zarrita.js, for `zarrita_js.py`: a line of JSON asks, a line of JSON answers.
//
// {"do": "read", store, path} gives {shape, dtype} and `bytes`, little-endian elements in C order as base64, or
// `texts`. {"do": "create", store, path, options} makes a group or an array, {"do": "write", store, path} puts
// `bytes` into all of it. What fails gives {error}.

import { createInterface } from "node:readline";

import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

const TYPES = {
  bool: zarr.BoolArray,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: globalThis.Float16Array,
  float32: Float32Array,
  float64: Float64Array,
};

const at = ({ store, path }) => zarr.root(new FileSystemStore(store)).resolve(path);
const open = (request) => zarr.open(at(request), { kind: "array" });

// Where the elements are, in C order.
function* offsets(shape, stride, axis = 0, start = 0) {
  if (axis === shape.length) {
    yield start;
    return;
  }
  for (let index = 0; index < shape[axis]; index++) {
    yield* offsets(shape, stride, axis + 1, start + index * stride[axis]);
  }
}

function contiguous(shape) {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
}

async function read(request) {
  const array = await open(request);
  const { shape, dtype } = array;
  // Of an array without axes `get` gives a number, which has forgotten its bits.
  const { data, stride } = shape.length ? await zarr.get(array) : await array.getChunk([]);
  if (Array.isArray(data)) {
    return { shape, dtype, texts: [...offsets(shape, stride)].map((offset) => data[offset]) };
  }
  const elements = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const size = data.length ? data.byteLength / data.length : 0;
  const parts = [...offsets(shape, stride)].map((offset) => elements.subarray(offset * size, (offset + 1) * size));
  return { shape, dtype, bytes: Buffer.concat(parts).toString("base64") };
}

async function create({ options, ...request }) {
  await zarr.create(at(request), options);
  return {};
}

async function write({ bytes, ...request }) {
  const array = await open(request);
  const { shape, dtype } = array;
  const data = new TYPES[dtype](Uint8Array.from(Buffer.from(bytes, "base64")).buffer);
  const first = () => (data.get ? data.get(0) : data[0]);
  await zarr.set(array, null, shape.length ? { data, shape, stride: contiguous(shape) } : first());
  return {};
}

// Several chunks of an array may fail; the first that does is the answer.
process.on("unhandledRejection", () => {});

const actions = { read, create, write };
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = await actions[request.do](request);
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}${error.cause ? `: ${error.cause.message}` : ""}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
