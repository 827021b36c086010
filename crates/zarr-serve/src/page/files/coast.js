// The coasts of the world, and lines of longitude and latitude, over a map.

const UNIT = 0.05;
let lines = null;

// The coasts as lines of `[longitude, latitude]`: varints of differences, as `scripts/coast.mjs` of the crate zarr-plot makes them.
export function decode(bytes) {
  let at = 0;
  const varint = () => {
    let [value, factor] = [0, 1];
    for (; bytes[at] > 127; at++) [value, factor] = [value + (bytes[at] - 128) * factor, factor * 128];
    return value + bytes[at++] * factor;
  };
  const zigzag = () => {
    const value = varint();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  const found = [];
  while (at < bytes.length) {
    let [lon, lat] = [0, 0];
    found.push(Array.from({ length: varint() }, () => {
      [lon, lat] = [lon + zigzag(), lat + zigzag()];
      return [lon * UNIT, lat * UNIT];
    }));
  }
  return found;
}

// Fetches the coasts once; `then()` is called when they have come.
export function load(then) {
  if (lines) return;
  lines = [];
  fetch("/-/coast", { credentials: "omit" }).then((answer) => answer.arrayBuffer()).then((buffer) => {
    lines = decode(new Uint8Array(buffer));
    then();
  }, () => (lines = null));
}

// Whether two axes are those of a map.
export const isMap = (x, y) => (x.kind === "lon" && y.kind === "lat") || (x.kind === "lat" && y.kind === "lon");

// Draws on a canvas: `toScreen(x, y)` gives `{px, py}` of places among the elements of the axes `x` and `y`, `box` is where the map is.
export function draw(context, { x, y, toScreen, box, across, down }) {
  const lon = x.kind === "lon" ? x : y;
  const lat = x.kind === "lat" ? x : y;
  if (!lon.values || !lat.values) return;
  // Up to half a step outside, where elements end.
  const within = (axis, place) => place >= -0.5 && place <= axis.size - 0.5;
  const screen = (east, north) => (lon === x ? toScreen(east + 0.5, north + 0.5) : toScreen(north + 0.5, east + 0.5));
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  context.clip();
  context.lineJoin = "round";
  // The graticule is at the numbers beside the map.
  context.strokeStyle = "rgb(128 128 128 / 45%)";
  context.lineWidth = 1;
  context.beginPath();
  for (const px of across) context.moveTo(px, box.top), context.lineTo(px, box.bottom);
  for (const py of down) context.moveTo(box.left, py), context.lineTo(box.right, py);
  context.stroke();
  const path = new Path2D();
  const turns = [-360, 0, 360].filter((turn) => overlaps(lon.values, turn));
  for (const line of lines ?? []) for (const turn of turns) {
    let isDrawing = false;
    for (const [east, north] of line) {
      const [e, n] = [lon.place(east + turn), lat.place(north)];
      if (!within(lon, e) || !within(lat, n)) {
        isDrawing = false;
        continue;
      }
      const { px, py } = screen(e, n);
      if (isDrawing) path.lineTo(px, py);
      else path.moveTo(px, py);
      isDrawing = true;
    }
  }
  // Dark on light, to be seen on all colours.
  for (const [style, width] of [["rgb(255 255 255 / 75%)", 2.6], ["#141414", 1]]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke(path);
  }
  context.restore();
}

function overlaps(values, turn) {
  const [first, last] = [values[0], values[values.length - 1]];
  return Math.min(first, last) <= 180 + turn + 1 && Math.max(first, last) >= -180 + turn - 1;
}
