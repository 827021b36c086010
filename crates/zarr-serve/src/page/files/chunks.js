// The map of chunks: which of them are stored.

import { el, replace } from "./dom.js";
import { json } from "./api.js";
import { count, size, times } from "./number.js";

// About how many pixels wide and high the map is.
const ROOM = 600;

export function chunks(node) {
  const holder = el("div", { class: "panes" }, el("p", { class: "quiet", role: "status" }, "Listing the stored chunks…"));
  load(node, holder);
  return holder;
}

async function load(node, holder) {
  let found;
  try {
    found = await json("chunks", { path: node.path });
  } catch (error) {
    replace(holder, el("p", { class: "trouble", role: "alert" }, error.message));
    return;
  }
  const noun = found.are_shards ? "shards" : "chunks";
  const all = found.grid.reduce((a, b) => a * b, 1);
  const lines = [el("p", { class: "big" }, el("strong", {}, `${count(found.stored)} of ${count(all)}`), ` ${noun} are stored`, found.bytes === null ? "" : `, ${size(found.bytes)}`, found.ratio ? `, ${found.ratio.toFixed(1)} times smaller than the elements` : "")];
  lines.push(el("p", { class: "quiet" }, `A grid of ${times(found.grid)} ${noun}, each of ${times(found.shape ?? [])} elements. Those that are not stored have the fill value.`));
  if (found.map === null) {
    replace(holder, lines, el("p", {}, "There are too many of them to be drawn."));
    return;
  }
  const bits = Uint8Array.from(atob(found.map), (letter) => letter.charCodeAt(0));
  const isStored = (n) => (bits[n >> 3] >> (n & 7)) & 1;
  const rank = found.grid.length;
  const width = rank ? found.grid[rank - 1] : 1;
  const height = rank > 1 ? found.grid[rank - 2] : 1;
  const planes = all / (width * height);
  const canvas = el("canvas", { class: "chunks", role: "img", "aria-label": `Map of the ${noun}: ${found.stored} of ${all} are stored` });
  const readout = el("p", { class: "readout", role: "status" });
  let plane = 0;
  const names = node.array.axes.map(({ name }) => name);
  // Several planes are beside each other while they fit.
  const canTile = planes > 1 && planes * width * height <= 20000;
  const cell = Math.max(1, Math.min(24, Math.floor(Math.sqrt((ROOM * ROOM) / (canTile ? all : width * height)) / 1.6), Math.floor(ROOM / Math.max(width, height))));
  const gap = canTile ? Math.max(3, Math.round(cell / 3)) : 0;
  const [tileX, tileY] = [width * cell + gap, height * cell + gap];
  const columns = canTile ? Math.max(1, Math.min(planes, Math.floor(1.5 * ROOM / tileX))) : 1;
  const lanes = canTile ? Math.ceil(planes / columns) : 1;
  const draw = () => {
    const style = getComputedStyle(holder);
    [canvas.width, canvas.height] = [Math.min(8192, columns * tileX - gap), Math.min(8192, lanes * tileY - gap)];
    const context = canvas.getContext("2d");
    const colours = [style.getPropertyValue("--chunk-0"), style.getPropertyValue("--chunk-1")];
    const line = cell > 3 ? 1 : 0;
    for (let p = 0; p < (canTile ? planes : 1); p++) {
      const first = (canTile ? p : plane) * width * height;
      const [left, top] = canTile ? [(p % columns) * tileX, Math.floor(p / columns) * tileY] : [0, 0];
      for (let n = 0; n < width * height; n++) {
        context.fillStyle = colours[isStored(first + n)];
        context.fillRect(left + (n % width) * cell, top + Math.floor(n / width) * cell, cell - line, cell - line);
      }
    }
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * canvas.width, ((event.clientY - box.top) / box.height) * canvas.height];
    const [column, lane] = [Math.floor(x / tileX), Math.floor(y / tileY)];
    const [inX, inY] = [Math.floor((x - column * tileX) / cell), Math.floor((y - lane * tileY) / cell)];
    const p = canTile ? lane * columns + column : plane;
    if (inX >= width || inY >= height || p >= planes) return void (readout.textContent = "");
    let rest = (p * height + inY) * width + inX;
    const stored = isStored(rest);
    const index = found.grid.map((_, axis) => {
      const below = found.grid.slice(axis + 1).reduce((a, b) => a * b, 1);
      const here = Math.floor(rest / below);
      rest -= here * below;
      return here;
    });
    readout.textContent = `${noun.slice(0, -1)} ${index.map((at, axis) => `${names[axis]} ${at}`).join(", ")}: ${stored ? "stored" : "not stored"}`;
  });
  const choose = !canTile && planes > 1 && el("label", { class: "pick" }, "plane", el("input", {
    type: "range", min: 0, max: planes - 1, value: 0,
    oninput: (event) => {
      plane = event.target.valueAsNumber;
      draw();
    },
  }));
  const legend = el("p", { class: "legend" }, el("span", { class: "patch one" }), "stored", el("span", { class: "patch none" }), "not stored");
  replace(holder, lines, legend, choose, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Map of the ${noun}` }, canvas), readout);
  draw();
}
