// Reads arrays with zarrita.js, from URLs or folders: a line of JSON asks, {"store", "path"}, a line of JSON answers, {"bytes"}:
// little-endian elements in C order as base64; or {"error"}.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const modules = `${pathToFileURL(process.argv[2])}/`;
const find = (name) => import(new URL(`node_modules/${name}`, modules));
const { default: FileSystemStore } = await find("@zarrita/storage/dist/src/fs.js");
const { default: FetchStore } = await find("@zarrita/storage/dist/src/fetch.js");
const zarr = await find("zarrita/dist/src/index.js");

function* offsets(shape, stride, axis = 0, start = 0) {
  if (axis === shape.length) {
    yield start;
    return;
  }
  for (let index = 0; index < shape[axis]; index++) {
    yield* offsets(shape, stride, axis + 1, start + index * stride[axis]);
  }
}

async function read({ store, path }) {
  const opened = store.startsWith("http") ? new FetchStore(store) : new FileSystemStore(store);
  const array = await zarr.open.v3(zarr.root(opened).resolve(`/${path}`), { kind: "array" });
  const { shape } = array;
  const { data, stride } = shape.length ? await zarr.get(array) : await array.getChunk([]);
  if (!data.buffer) throw new Error(`elements of ${array.dtype} are no bytes`);
  const elements = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const size = data.length ? data.byteLength / data.length : 0;
  const parts = [...offsets(shape, stride)].map((offset) => elements.subarray(offset * size, (offset + 1) * size));
  return { bytes: Buffer.concat(parts).toString("base64") };
}

process.on("unhandledRejection", () => {});
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await read(JSON.parse(line));
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
