// The picture of a plane of an array: pan, zoom, levels of a pyramid, ticks at its edges. It knows planes and pixels, no arrays:
// values come from `fetch`, colours from `paint`.

import { el } from "./dom.js";
import { isAborted } from "./api.js";
import { Gestures } from "./gestures.js";
import * as coast from "./coast.js";
import { scaleBar, unit } from "./number.js";

// Elements of the plane that are fetched to show all of it.
const OVERVIEW = 1.5e6;
// The most elements of a part of it.
const DETAIL = 4e6;
const EDGE = { left: 68, right: 14, top: 10, bottom: 40 };
const MAX_ZOOM = 256;

export class Picture {
  // `fetch(level, x, y, signal)` gives a piece, `{layers, width, height, …}`, for two ranges `{from, to, step}`; `paint(piece, across, down)`
  // gives `{canvas, width, height}` of blocks of its values; `fits(level, x, y)` tells whether that is fetched at all. `onPointer(place)`, `onPoint(place)`, `onDraw(ends, isDone)` of a region, `onView()`, `onBusy(isBusy)`, `onTrouble(error)` are told.
  constructor(calls) {
    this.calls = calls;
    this.canvas = el("canvas", { class: "plane", tabindex: 0, role: "application", "aria-roledescription": "picture" });
    this.over = el("canvas", { class: "over", "aria-hidden": "true" });
    this.note = el("p", { class: "note", role: "status" });
    this.element = el("div", { class: "picture" }, this.canvas, this.over, this.note);
    this.pieces = {};
    this.view = null;
    this.point = null;
    this.gestures = new Gestures(this.canvas, {
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      click: (x, y) => this.calls.onPoint(this.placeAt(x, y)),
      isDrawing: () => Boolean(this.region),
      draw: (xa, ya, xb, yb, isDone) => this.calls.onDraw([...this.#within(xa, ya), ...this.#within(xb, yb)], isDone),
      hover: (x, y) => this.calls.onPointer(x === null ? null : this.placeAt(x, y)),
    });
    this.observer = new ResizeObserver(() => this.#resize());
    this.observer.observe(this.element);
  }

  // As high as the plane needs, and no higher than there is room.
  #height(width) {
    const most = Math.max(240, this.calls.room());
    const { x, y, aspect } = this.plane;
    if (!aspect) return Math.min(most, Math.max(240, width * 0.55));
    const inner = width - EDGE.left - EDGE.right;
    return Math.min(most, Math.max(170, (inner * y.size * aspect) / x.size) + EDGE.top + EDGE.bottom);
  }

  // The window, or what is around the picture, has another size.
  resize() {
    this.#resize();
  }

  // Another plane: `{x, y, flipX, flipY, aspect, levels, key}`, where `x` and `y` are axes, `aspect` says how high an element is for its width
  // if that is not free, and levels are `{path, scaleX, scaleY}`.
  show(plane, view) {
    const isOther = !this.plane || this.plane.name !== plane.name;
    this.plane = plane;
    if (isOther) {
      this.pieces = {};
      for (const kind of ["overview", "detail"]) {
        this.asked?.[kind]?.abort();
        if (this.asked) this.asked[kind] = null;
      }
      this.view = view ? this.#checked(view) : null;
      this.refused = false;
    }
    this.#resize();
  }

  // Colours have changed.
  repaint() {
    for (const piece of Object.values(this.pieces)) if (piece) piece.bitmap = null;
    this.draw();
  }

  end() {
    this.observer.disconnect();
    this.asked?.overview?.abort();
    this.asked?.detail?.abort();
    cancelAnimationFrame(this.frame);
  }

  #resize() {
    const across = this.element.getBoundingClientRect().width;
    if (!this.plane || across < 40) return;
    this.element.style.height = `${Math.round(this.#height(across))}px`;
    const box = this.element.getBoundingClientRect();
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(20, Math.floor(box.width - EDGE.left - EDGE.right));
    this.height = Math.max(20, Math.floor(box.height - EDGE.top - EDGE.bottom));
    const size = (canvas, width, height) => {
      const [w, h] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
      if (canvas.width !== w) canvas.width = w;
      if (canvas.height !== h) canvas.height = h;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    };
    this.canvas.style.left = `${EDGE.left}px`;
    this.canvas.style.top = `${EDGE.top}px`;
    size(this.canvas, this.width, this.height);
    size(this.over, Math.floor(box.width), Math.floor(box.height));
    this.update();
  }

  // Everything is shown.
  fit() {
    const { x, y, aspect } = this.plane;
    let [zx, zy] = [this.width / x.size, this.height / y.size];
    if (aspect) {
      zx = Math.min(zx, zy / aspect);
      zy = zx * aspect;
    }
    return { cx: x.size / 2, cy: y.size / 2, zx, zy };
  }

  isFit() {
    return !this.view;
  }

  #now() {
    return this.view ?? this.fit();
  }

  // A view that a link had: within the array.
  #checked([cx, cy, zx, zy = zx * (this.plane.aspect || 1)]) {
    const isGood = [cx, cy, zx, zy].every(Number.isFinite) && zx > 0 && zy > 0;
    const { x, y } = this.plane;
    const within = (value, most) => Math.max(0, Math.min(most, value));
    return isGood ? { cx: within(cx, x.size), cy: within(cy, y.size), ...limited(zx, zy) } : null;
  }

  setView(view) {
    const fit = this.fit();
    if (view) {
      const { x, y } = this.plane;
      view.cx = Math.max(0, Math.min(x.size, view.cx));
      view.cy = Math.max(0, Math.min(y.size, view.cy));
      const isAll = view.zx <= fit.zx * 1.001 && view.zy <= fit.zy * 1.001;
      if (isAll && !this.refused) view = null;
    }
    this.view = view;
    this.calls.onView();
    this.update();
  }

  pan(dx, dy) {
    const { cx, cy, zx, zy } = this.#now();
    const { flipX, flipY } = this.plane;
    this.setView({ cx: cx - (flipX ? -dx : dx) / zx, cy: cy - (flipY ? -dy : dy) / zy, zx, zy });
  }

  // Larger by a factor, around a point of the canvas that stays where it is.
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const now = this.#now();
    const fit = this.fit();
    const most = Math.max(MAX_ZOOM, fit.zx, fit.zy);
    const limited = Math.max(0.5, Math.min(factor, most / Math.max(now.zx, now.zy)));
    const before = this.#toPlane(px, py, now);
    const view = { ...now, zx: Math.max(fit.zx, now.zx * limited), zy: Math.max(fit.zy, now.zy * limited) };
    const after = this.#toPlane(px, py, view);
    this.setView({ ...view, cx: view.cx + before.x - after.x, cy: view.cy + before.y - after.y });
  }

  #toPlane(px, py, { cx, cy, zx, zy } = this.#now()) {
    const { flipX, flipY } = this.plane;
    return { x: cx + ((flipX ? -1 : 1) * (px - this.width / 2)) / zx, y: cy + ((flipY ? -1 : 1) * (py - this.height / 2)) / zy };
  }

  toScreen(x, y, { cx, cy, zx, zy } = this.#now()) {
    const { flipX, flipY } = this.plane;
    return { px: this.width / 2 + (flipX ? -1 : 1) * (x - cx) * zx, py: this.height / 2 + (flipY ? -1 : 1) * (y - cy) * zy };
  }

  // The element at a point of the canvas, with its value if it is here; nothing outside of the array.
  placeAt(px, py) {
    if (!this.plane || !this.width) return null;
    const at = this.#toPlane(px, py);
    const [x, y] = [Math.floor(at.x), Math.floor(at.y)];
    if (x < 0 || y < 0 || x >= this.plane.x.size || y >= this.plane.y.size) return null;
    return { x, y };
  }

  // The element nearest to a point of the canvas.
  #within(px, py) {
    const { x, y } = this.#toPlane(px, py);
    const within = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value)));
    return [within(x, this.plane.x.size), within(y, this.plane.y.size)];
  }

  // The values of an element, one of each layer, and whether they are exactly its own.
  valuesAt({ x, y }) {
    for (const piece of [this.pieces.detail, this.pieces.overview]) {
      if (!piece || piece.key !== this.plane.key) continue;
      const column = Math.floor((x / piece.scaleX - piece.x.from) / piece.x.step);
      const row = Math.floor((y / piece.scaleY - piece.y.from) / piece.y.step);
      if (column < 0 || row < 0 || column >= piece.width || row >= piece.height) continue;
      const isExact = piece.x.step * piece.y.step * piece.scaleX * piece.scaleY === 1;
      const at = row * piece.width + column;
      return { values: piece.layers.map((layer) => layer[at]), labels: (piece.labels ?? []).map(({ overlay, values }) => [overlay.name, values[at]]), isExact };
    }
    return null;
  }

  // What is seen, as ranges of indices.
  seen() {
    const [a, b] = [this.#toPlane(0, 0), this.#toPlane(this.width, this.height)];
    const within = (p, q, size) => [Math.max(0, Math.min(p, q)), Math.min(size, Math.max(p, q))];
    return { x: within(a.x, b.x, this.plane.x.size), y: within(a.y, b.y, this.plane.y.size) };
  }

  // Asks for what is missing, and draws.
  update() {
    this.draw();
    if (!this.plane || !this.width) return;
    this.asked ??= {};
    const overview = this.#overview();
    if (overview && !this.calls.fits(overview.level, overview.x, overview.y)) return this.#begin();
    this.#ask("overview", overview);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#ask("detail", this.#detail()), this.pieces.overview ? 60 : 0);
  }

  #overview() {
    const { x, y, levels, key } = this.plane;
    if (this.refused) return null;
    const fit = this.fit();
    // As fine as the screen, and not much finer; small planes are fetched whole.
    const isSmall = levels.length === 1 && x.size * y.size <= OVERVIEW;
    const [perX, perY] = isSmall ? [1, 1] : [Math.max(1, 1 / (fit.zx * this.ratio)), Math.max(1, 1 / (fit.zy * this.ratio))];
    let [stepX, stepY] = [Math.floor(perX), Math.floor(perY)];
    while ((x.size / stepX) * (y.size / stepY) > OVERVIEW) x.size / stepX > y.size / stepY ? stepX++ : stepY++;
    return this.#wanted(levels, key, stepX, stepY, 0, x.size, 0, y.size);
  }

  #detail() {
    const { key, levels } = this.plane;
    const overview = this.pieces.overview;
    const now = this.#now();
    const seen = this.seen();
    let [stepX, stepY] = [Math.max(1, Math.floor(1 / (now.zx * this.ratio))), Math.max(1, Math.floor(1 / (now.zy * this.ratio)))];
    const isFine = overview && overview.key === key && overview.x.step * overview.scaleX <= stepX && overview.y.step * overview.scaleY <= stepY;
    if (isFine || seen.x[1] <= seen.x[0] || seen.y[1] <= seen.y[0]) return null;
    // Overviews that are about to come may be fine enough.
    if (!overview && !this.refused) return null;
    const grow = ([from, to], size) => [Math.max(0, from - (to - from) / 8), Math.min(size, to + (to - from) / 8)];
    const [x, y] = [grow(seen.x, this.plane.x.size), grow(seen.y, this.plane.y.size)];
    while (((x[1] - x[0]) / stepX) * ((y[1] - y[0]) / stepY) > DETAIL) stepX++, stepY++;
    const known = this.pieces.detail;
    const covers = known && known.key === key && known.stepX === stepX && known.stepY === stepY && known.covered.x[0] <= seen.x[0] && known.covered.x[1] >= seen.x[1] && known.covered.y[0] <= seen.y[0] && known.covered.y[1] >= seen.y[1];
    return covers ? null : this.#wanted(levels, key, stepX, stepY, ...x, ...y);
  }

  // A request: of the coarsest level that is fine enough.
  #wanted(levels, key, stepX, stepY, x0, x1, y0, y1) {
    let level = levels[0];
    for (const other of levels) if (other.scaleX <= stepX * 1.01 && other.scaleY <= stepY * 1.01 && other.scaleX * other.scaleY >= level.scaleX * level.scaleY) level = other;
    const range = (from, to, step, scale, size) => {
      const inner = Math.max(1, Math.floor(step / scale + 0.01));
      const start = Math.floor(from / scale / inner) * inner;
      return { from: start, to: Math.min(size, Math.ceil(to / scale)), step: inner };
    };
    const x = range(x0, x1, stepX, level.scaleX, level.sizeX);
    const y = range(y0, y1, stepY, level.scaleY, level.sizeY);
    if (x.to <= x.from || y.to <= y.from) return null;
    return { key, level, x, y, stepX, stepY, scaleX: level.scaleX, scaleY: level.scaleY, covered: { x: [x0, x1], y: [y0, y1] } };
  }

  async #ask(kind, wanted) {
    if (!wanted) return;
    if (!this.calls.fits(wanted.level, wanted.x, wanted.y)) return this.say("Too much to be read at once: zoom in.");
    const name = JSON.stringify([wanted.key, wanted.level.path, wanted.x, wanted.y]);
    if (this.pieces[kind]?.name === name || this.asked[kind]?.name === name) return;
    this.asked[kind]?.abort();
    const controller = new AbortController();
    controller.name = name;
    this.asked[kind] = controller;
    this.calls.onBusy(true);
    try {
      const found = await this.calls.fetch(wanted.level, wanted.x, wanted.y, controller.signal);
      if (this.asked[kind] !== controller) return;
      this.asked[kind] = null;
      this.pieces[kind] = { ...wanted, ...found, name };
      if (kind === "overview" && this.pieces.detail?.key !== wanted.key) this.pieces.detail = null;
      this.say("");
      this.calls.onValues(this.pieces.overview ?? this.pieces.detail, kind);
      this.draw();
      if (kind === "overview") this.#ask("detail", this.#detail());
    } catch (error) {
      if (isAborted(error)) return;
      if (this.asked[kind] === controller) this.asked[kind] = { name, abort() {} };
      this.calls.onTrouble(error);
    } finally {
      if (!this.asked.overview?.signal && !this.asked.detail?.signal) this.calls.onBusy(false);
    }
  }

  // All of it is too much: begins in the middle, with a few chunks.
  #begin() {
    this.refused = true;
    const { x, y } = this.plane;
    const side = Math.min(512, x.size, y.size);
    const zoom = Math.min(this.width, this.height) / side;
    this.calls.onPart();
    this.setView(this.view ?? { cx: x.size / 2, cy: y.size / 2, zx: zoom, zy: zoom });
  }

  say(text) {
    this.note.textContent = text;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    if (!this.plane || !this.width) return;
    const context = this.canvas.getContext("2d");
    const now = this.#now();
    const { flipX, flipY, x, y } = this.plane;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const pieces = [this.pieces.overview, this.pieces.detail].filter(Boolean);
    const zx = now.zx * this.ratio;
    const zy = now.zy * this.ratio;
    // The plane's first element is at the origin, and may be mirrored.
    const place = this.toScreen(0, 0, now);
    context.setTransform(flipX ? -1 : 1, 0, 0, flipY ? -1 : 1, Math.round(place.px * this.ratio), Math.round(place.py * this.ratio));
    context.fillStyle = this.#hatch(context);
    context.fillRect(0, 0, x.size * zx, y.size * zy);
    let block = null;
    for (const piece of pieces) {
      let [stepX, stepY] = [piece.x.step * piece.scaleX, piece.y.step * piece.scaleY];
      // How many values are in a pixel of the screen.
      const [across, down] = [[stepX * zx, piece.width], [stepY * zy, piece.height]].map(([pixels, all]) => Math.max(1, Math.min(all, Math.floor(1 / pixels + 1e-6))));
      if (!piece.bitmap || piece.bitmap.across !== across || piece.bitmap.down !== down) piece.bitmap = { across, down, ...this.calls.paint(piece, across, down) };
      const { canvas, width, height } = piece.bitmap;
      [stepX, stepY] = [stepX * across, stepY * down];
      const isShrunk = stepX * zx < 1 || stepY * zy < 1;
      context.imageSmoothingEnabled = isShrunk && !this.calls.isExact();
      context.imageSmoothingQuality = "medium";
      context.drawImage(canvas, piece.x.from * piece.scaleX * zx, piece.y.from * piece.scaleY * zy, width * stepX * zx, height * stepY * zy);
      block = { reduced: piece.reduced, read: [piece.x.step, piece.y.step], shown: [piece.x.step * across, piece.y.step * down], isLevel: piece.scaleX * piece.scaleY !== 1 };
    }
    if (block) this.calls.onBlock(block);
    this.#drawOver(now);
    this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1);
  }

  // Stripes, which show through where values are missing.
  #hatch(context) {
    const style = getComputedStyle(this.element);
    const [back, stripe] = [style.getPropertyValue("--hatch-back"), style.getPropertyValue("--hatch-stripe")];
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const on = tile.getContext("2d");
    on.fillStyle = back;
    on.fillRect(0, 0, 8, 8);
    on.strokeStyle = stripe;
    on.lineWidth = 1.5;
    on.beginPath();
    for (const offset of [-8, 0, 8]) on.moveTo(offset, 8), on.lineTo(offset + 8, 0);
    on.stroke();
    return context.createPattern(tile, "repeat");
  }

  // Ticks, the names of the axes, and the mark of the point.
  #drawOver(now) {
    const context = this.over.getContext("2d");
    const style = getComputedStyle(this.element);
    const [ink, line, accent] = ["--ink-2", "--line-2", "--accent"].map((name) => style.getPropertyValue(name));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.over.width, this.over.height);
    context.font = `11.5px ${style.fontFamily}`;
    const seen = this.seen();
    const { x, y, flipY } = this.plane;
    context.strokeStyle = line;
    context.fillStyle = ink;
    context.lineWidth = 1;
    const [corner, opposite] = [this.toScreen(seen.x[0], seen.y[0], now), this.toScreen(seen.x[1], seen.y[1], now)];
    const box = { left: Math.min(corner.px, opposite.px), right: Math.max(corner.px, opposite.px), top: Math.min(corner.py, opposite.py), bottom: Math.max(corner.py, opposite.py) };
    const at = (px, py) => [Math.round(EDGE.left + px) + 0.5, Math.round(EDGE.top + py) + 0.5];
    const [left, top] = at(box.left, box.top);
    const [right, bottom] = at(box.right, box.bottom);
    context.strokeRect(left - 1, top - 1, right - left + 1, bottom - top + 1);
    context.textAlign = "center";
    context.textBaseline = "top";
    let end = -Infinity;
    const across = x.ticks(seen.x[0], seen.x[1], Math.max(2, (box.right - box.left) / 95)).map((tick) => ({ ...tick, px: at(this.toScreen(tick.at, 0, now).px, 0)[0] }));
    for (const { px, text } of across.sort((a, b) => a.px - b.px)) {
      if (px < left - 1 || px > right + 1) continue;
      context.beginPath();
      context.moveTo(px, bottom);
      context.lineTo(px, bottom + 4);
      context.stroke();
      const half = context.measureText(text).width / 2;
      const middle = Math.max(half + 2, Math.min(this.width + EDGE.left + EDGE.right - half - 2, px));
      if (middle - half < end + 8) continue;
      context.fillText(text, middle, bottom + 6);
      end = middle + half;
    }
    context.fillText(title(x), (left + right) / 2, bottom + 22);
    const lines = { across: across.map(({ px }) => px), down: [] };
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { at: place, text } of y.ticks(seen.y[0], seen.y[1], Math.max(2, (box.bottom - box.top) / 48))) {
      const py = at(0, this.toScreen(0, place, now).py)[1];
      if (py < top - 1 || py > bottom + 1) continue;
      lines.down.push(py);
      context.beginPath();
      context.moveTo(left - 1, py);
      context.lineTo(left - 5, py);
      context.stroke();
      context.fillText(text.length > 10 ? `${text.slice(0, 9)}…` : text, left - 8, py);
    }
    context.save();
    context.translate(left - EDGE.left + 9, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(title(y), 0, 0);
    context.restore();
    if (this.hasCoast && coast.isMap(x, y)) {
      coast.load(() => this.draw());
      // Coordinates are asked for by the ticks.
      const toScreen = (placeX, placeY) => {
        const { px, py } = this.toScreen(placeX, placeY, now);
        return { px: EDGE.left + px, py: EDGE.top + py };
      };
      coast.draw(context, { x, y, toScreen, box: { left, right, top, bottom }, ...lines });
    }
    if (x.metres && x.step) this.#drawScale(context, (Math.abs(x.step) * x.metres) / now.zx, { left, right, bottom });
    if (this.region) this.#drawRegion(context, now, accent);
    if (this.point) this.#mark(context, now, accent, { left, right, top, bottom });
    this.box = { left, right, top, bottom, flipY };
  }

  // A bar of a round length; `metres` are those of a pixel.
  #drawScale(context, metres, { left, right, bottom }) {
    const room = Math.min(180, (right - left) / 3);
    const { length, text } = scaleBar(room * metres);
    const width = length / metres;
    if (room < 40) return;
    const [x, y] = [right - 16 - width, bottom - 16];
    const half = Math.max(width, context.measureText(text).width) / 2 + 7;
    context.fillStyle = "rgb(0 0 0 / 62%)";
    context.fillRect(x + width / 2 - half, y - 21, 2 * half, 30);
    context.fillStyle = "#ffffff";
    context.fillRect(x, y, width, 3);
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(text, x + width / 2, y - 3);
    this.element.dataset.scale = text;
  }

  // From the middle of an element to that of another, or around them.
  #drawRegion(context, now, accent) {
    const { shape, ends } = this.region;
    const [xa, ya, xb, yb] = ends;
    const [x0, x1, y0, y1] = [Math.min(xa, xb), Math.max(xa, xb) + 1, Math.min(ya, yb), Math.max(ya, yb) + 1];
    const a = shape === "line" ? this.toScreen(xa + 0.5, ya + 0.5, now) : this.toScreen(x0, y0, now);
    const b = shape === "line" ? this.toScreen(xb + 0.5, yb + 0.5, now) : this.toScreen(x1, y1, now);
    context.save();
    context.beginPath();
    context.rect(EDGE.left, EDGE.top, this.width, this.height);
    context.clip();
    context.translate(EDGE.left, EDGE.top);
    const path = new Path2D();
    if (shape === "line") path.moveTo(a.px, a.py), path.lineTo(b.px, b.py);
    else path.rect(a.px, a.py, b.px - a.px, b.py - a.py);
    for (const [colour, width] of [["rgba(255,255,255,.9)", 4.5], [accent, 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke(path);
    }
    context.restore();
  }

  #mark(context, now, accent, { left, right, top, bottom }) {
    const { px, py } = this.toScreen(this.point.x + 0.5, this.point.y + 0.5, now);
    const [x, y] = [EDGE.left + px, EDGE.top + py];
    if (x < left - 1 || x > right + 1 || y < top - 1 || y > bottom + 1) return;
    for (const [colour, width] of [["rgba(255,255,255,.9)", this.hasCross ? 2.5 : 4.5], [accent, this.hasCross ? 1 : 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      if (this.hasCross) {
        context.moveTo(left, y), context.lineTo(right, y);
        context.moveTo(x, top), context.lineTo(x, bottom);
        context.stroke();
        continue;
      }
      context.arc(x, y, 6, 0, 2 * Math.PI);
      context.moveTo(x - 11, y), context.lineTo(x - 6, y);
      context.moveTo(x + 6, y), context.lineTo(x + 11, y);
      context.moveTo(x, y - 11), context.lineTo(x, y - 6);
      context.moveTo(x, y + 6), context.lineTo(x, y + 11);
      context.stroke();
    }
  }
}

// No element is larger than that, in either direction.
function limited(zx, zy) {
  const by = Math.min(1, MAX_ZOOM / Math.max(zx, zy));
  return { zx: zx * by, zy: zy * by };
}

const title = ({ name, units, kind }) => (units && kind !== "time" && !/^degrees?_/.test(units) ? `${name} [${unit(units)}]` : name);
