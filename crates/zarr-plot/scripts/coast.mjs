// Makes `src/picture/coast.bin`, the coasts of Natural Earth at 1:110 million, from the npm package world-atlas 2.0.2:
//
//     npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
//     node scripts/coast.mjs package/land-110m.json src/picture/coast.bin
//
// Natural Earth 4.1.0 is in the public domain, the package is ISC. The file is a sequence of lines: the number of points, then for
// each point the differences of longitude and latitude to the point before it (of the first to 0, 0), in units of 0.05 degrees.
// Numbers are varints, seven bits a byte with the lowest first; differences are zigzag: 0, -1, 1, -2, ….

import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const UNIT = 0.05;

const { arcs, transform } = JSON.parse(readFileSync(from));
const lines = [];
for (const arc of arcs) {
  let [x, y] = [0, 0];
  let line = [];
  const close = () => {
    if (line.length > 1) lines.push(line);
    line = [];
  };
  let before = null;
  for (const [dx, dy] of arc) {
    [x, y] = [x + dx, y + dy];
    const degrees = [x * transform.scale[0] + transform.translate[0], y * transform.scale[1] + transform.translate[1]];
    const point = degrees.map((value) => Math.round(value / UNIT));
    // Polygons are closed along the map's edges, where there is no coast.
    const isAtSide = ([lon]) => Math.abs(lon) >= 180 / UNIT;
    const isAtBottom = ([, lat]) => lat <= -85.55 / UNIT;
    if (before && ((isAtSide(before) && isAtSide(point)) || (isAtBottom(before) && isAtBottom(point)))) close();
    if (!line.length || point[0] !== before[0] || point[1] !== before[1]) line.push(point);
    before = point;
  }
  close();
}

const bytes = [];
const varint = (number) => {
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
  bytes.push(number);
};
const zigzag = (number) => varint(number < 0 ? -2 * number - 1 : 2 * number);
for (const line of lines) {
  varint(line.length);
  let last = [0, 0];
  for (const point of line) {
    point.forEach((value, n) => zigzag(value - last[n]));
    last = point;
  }
}
writeFileSync(to, Uint8Array.from(bytes));
console.log(`${lines.length} lines, ${lines.reduce((sum, line) => sum + line.length, 0)} points, ${bytes.length} bytes`);
