// The data of an array: a picture with sliders, or a line, and what is known of a point.

import { el, replace, select, button, id } from "./dom.js";
import { json, slice, isAborted } from "./api.js";
import { Axis } from "./axes.js";
import { Picture } from "./picture.js";
import { Sliders } from "./sliders.js";
import { Colours } from "./colours.js";
import { Channels } from "./channels.js";
import { Overlays } from "./overlays.js";
import { Chart } from "./chart.js";
import { isMap } from "./coast.js";
import { paint, reduced, sorted } from "./colour.js";
import { plain, short } from "./number.js";

// Planes that are kept, to be seen again at once: this many bytes.
const KEPT = 96 << 20;
// Of more planes, so many are read for the range of all.
const SAMPLED = 12;
const SAMPLED_ELEMENTS = 4e6;
// Sides of a picture whose elements are of known size, and of others, that are more unlike fill the space and are not to scale.
const MAX_KNOWN_RATIO = 16;
const MAX_RATIO = 12;
// Pixels that an arrow key moves a picture.
const KEY_STEP = 60;
const KEEPS = [["lock", "stays"], ["plane", "of each plane"], ["all", "of all planes"]];

const range = ({ from, to, step }) => `${from}:${to}:${step}`;

export class DataView {
  // `node` as the server describes it; `state` has the view's settings.
  constructor(node, state, maps) {
    Object.assign(this, { node, state, maps, path: node.path, array: node.array });
    const now = state.now;
    const { array } = this;
    this.axes = array.axes.map((axis, number) => new Axis(this.path, number, axis, () => this.#relabel()));
    const rank = array.shape.length;
    const within = (value, otherwise) => (Number.isInteger(value) && value < rank ? value : otherwise);
    this.x = within(now.x, array.view.x);
    this.y = within(now.y, array.view.y);
    if (this.x === this.y) [this.x, this.y] = [array.view.x, array.view.y];
    this.at = array.shape.map((size, n) => Math.max(0, Math.min(size - 1, Math.floor(now.at?.[n] ?? array.view.at?.[n] ?? 0))));
    this.point = now.point?.length === 2 ? { x: Math.floor(now.point[0]), y: Math.floor(now.point[1]) } : null;
    this.kept = new Map();
    this.element = el("div", { class: "data" });
  }

  start() {
    this.readout = el("p", { class: "readout", role: "status" });
    this.block = el("p", { class: "block" });
    if (this.array.view.kind === "picture") this.#pictureView();
    else this.#lineView();
  }

  end() {
    window.removeEventListener("resize", this.resized);
    this.sliders?.stop();
    this.picture?.end();
    this.orthogonal?.end();
    this.comparison?.end();
    this.chart?.end();
    this.asked?.abort();
  }

  // -- A picture.

  #pictureView() {
    const { array, state } = this;
    const now = state.now;
    const { view } = array;
    const isPair = (value) => Array.isArray(value) && value.length === 2 && value[0] < value[1];
    this.keep = KEEPS.some(([keep]) => keep === now.keep) ? now.keep : "lock";
    const redraw = (changes) => {
      state.set(changes);
      this.#colourChoice();
      this.#plane();
      this.#repaint();
    };
    this.channels = Number.isInteger(view.channel_axis) ? new Channels(array, now, () => this.keep, redraw) : null;
    this.overlays = array.overlays?.length ? new Overlays(array.overlays, now, redraw) : null;
    const hasDeclared = Boolean(view.range || this.channels?.hasDeclared());
    const settings = {
      map: Object.hasOwn(this.maps, now.map ?? "") ? now.map : "",
      plain: view.map,
      signed: view.signed_map,
      range: isPair(now.range) || typeof now.range === "string" ? now.range : hasDeclared ? "declared" : "2,98%",
      held: isPair(now.held) ? now.held : null,
      keep: this.keep,
      log: now.log === "1",
      reversed: now.reversed === "1",
      labels: now.labels ? now.labels === "1" : Boolean(view.labels),
    };
    const about = { labelColours: new Map(view.label_colors ?? []), names: view.names ?? [], hasDeclared };
    this.colours = new Colours(this.maps, settings, about, (changes) => {
      const text = (value) => (typeof value === "boolean" ? (value ? "1" : "0") : value === "declared" ? null : value);
      state.set(Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, text(value)])));
      // Labels are read in another way where not all are shown.
      if ("labels" in changes) this.#plane();
      this.#repaint();
    });
    this.picture = new Picture({
      fetch: (level, x, y, signal) => this.piece(level, x, y, signal),
      paint: (piece, across, down) => this.paint(piece, across, down),
      onBlock: (block) => this.#block(block),
      isExact: () => this.colours.settings.labels,
      room: () => this.#room(),
      onPointer: (place) => this.pointer(place),
      onPoint: (place) => this.choosePoint(place),
      onDraw: (ends, isDone) => this.region?.set(ends, isDone),
      onView: () => {
        state.set({ view: this.picture.view ? this.#viewNumbers() : null });
        this.comparison?.follow();
      },
      onBusy: (isBusy) => this.#busy(isBusy),
      onTrouble: (error) => this.#trouble(error),
      onPart: () => (this.readout.textContent = "Too large to be shown whole: this is a part of it. Move and zoom to see the rest."),
      fits: (level, x, y) => this.fits(level, x, y),
      onValues: (piece, kind) => this.#values(piece, kind),
    });
    this.picture.point = this.point;
    this.picture.canvas.addEventListener("keydown", (event) => this.keyOn(event, this.picture, this.point, (place) => this.choosePoint(place)));
    this.sliders = new Sliders({ onMove: (axis, index) => this.move(axis, index), ready: () => !this.isBusy });
    this.lineHolder = el("section", { class: "line", "aria-label": "Values along a line" });
    this.regionHolder = el("div");
    this.planesHolder = el("div");
    this.comparisonHolder = el("div");
    const tools = el(
      "div", { class: "tools", role: "toolbar", "aria-label": "Picture" },
      button("Zoom in", () => this.picture.zoom(1.6), { icon: "plus", title: "Zoom in (+)" }),
      button("Zoom out", () => this.picture.zoom(1 / 1.6), { icon: "minus", title: "Zoom out (−)" }),
      button("Show all", () => this.picture.setView(null), { icon: "fit", title: "Show all (0)" }),
      this.full = button("Full screen", () => this.fullScreen(), { icon: "full", title: "Full screen (f)", "aria-pressed": "false" }),
      this.measure = button("Region", () => this.#toggleRegion(), { icon: "region", title: "Measure a rectangle or a line (r)", "aria-pressed": "false" }),
      this.atRightAngles = button("Planes at right angles", () => this.#togglePlanes(), { icon: "planes", title: "Planes at right angles (o)", "aria-pressed": "false" }),
      this.beside = button("Compare", () => this.#toggleComparison(), { icon: "compare", title: "Compare with another array (c)", "aria-pressed": "false" }),
      button("Save as PNG", () => this.#save(), { icon: "download", title: "Save a PNG with axes and colour bar" }),
    );
    this.progress = el("div", { class: "progress", hidden: true });
    const stage = el("div", { class: "stage" }, this.progress, tools, this.picture.element);
    this.keepChoice = el("div", { class: "row" }, el("span", { class: "name" }, "range"), select("Range while moving", KEEPS, this.keep, (keep) => this.#keepChanged(keep)));
    const panel = el("div", { class: "panel" }, this.#planeControls(), this.colours.element, this.channels?.element, this.overlays?.element);
    this.below = el("div", { class: "below" }, this.block, this.readout, this.sliders.element);
    replace(this.element, el("div", { class: "main" }, el("div", { class: "sides" }, stage, this.comparisonHolder), this.below, this.planesHolder, this.regionHolder, this.lineHolder), panel);
    this.resized = () => this.picture.resize();
    window.addEventListener("resize", this.resized);
    this.element.addEventListener("fullscreenchange", () => {
      this.full.setAttribute("aria-pressed", String(this.isFull()));
      this.picture.resize();
    });
    this.#colourChoice();
    this.#plane(now.view);
    this.atRightAngles.hidden = !this.depths().length;
    if (now.region) this.#toggleRegion();
    if (now.depth !== undefined && this.depths().length) this.#togglePlanes(false);
    if (now.with) this.#toggleComparison();
    if (this.point) this.choosePoint(this.point);
    else if (!this.picture.refused) this.readout.textContent = matchMedia("(hover: none)").matches ? "Tap the picture for a value, and a line through it." : "Move over the picture for values; click it for a line through a point.";
  }

  // Colours are those of a map, or of channels; one channel alone keeps its window.
  #colourChoice() {
    const isMixed = Boolean(this.channels?.isOn);
    this.colours.element.hidden = isMixed;
    this.colours.declared = this.array.view.range ?? this.channels?.declared(this.at[this.array.view.channel_axis]) ?? null;
    (isMixed ? this.channels : this.colours).element.append(this.keepChoice);
    this.colours.refresh();
  }

  // Whether what is below the picture is on the screen, too, decides how high it may be.
  #room() {
    const top = this.picture.element.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
    if (this.isFull()) return window.innerHeight - top - this.below.offsetHeight - 24;
    const scrolled = this.element.closest("main")?.scrollTop ?? 0;
    const above = this.element.getBoundingClientRect().top + scrolled + top;
    return Math.min(860, window.innerHeight - above - this.below.offsetHeight - 12);
  }

  isFull() {
    return document.fullscreenElement === this.element;
  }

  fullScreen() {
    if (this.isFull()) document.exitFullscreen();
    else this.element.requestFullscreen?.().catch(() => (this.readout.textContent = "This browser shows no page in full screen."));
  }

  async #toggleRegion() {
    if (this.region?.isOpen()) return this.region.close();
    if (!this.region) {
      const { Region } = await import("./region.js");
      this.region = new Region(this, this.state.now, (region) => {
        this.state.set({ region });
        this.measure.setAttribute("aria-pressed", String(Boolean(region)));
      });
      this.regionHolder.append(this.region.element);
    }
    this.region.open();
  }

  // The axes along which planes at right angles can be: neither of the picture's, nor that of the channels that are mixed.
  depths() {
    return this.#others().filter(({ size }) => size > 1);
  }

  // Who asks for the planes sees them, although they may be below the screen.
  async #togglePlanes(isAsked = true) {
    if (this.orthogonal?.isOpen()) return this.orthogonal.close();
    if (!this.depths().length) return;
    if (!this.orthogonal) {
      const { Orthogonal } = await import("./orthogonal.js");
      this.orthogonal = new Orthogonal(this, this.state.now.depth, (depth) => {
        this.state.set({ depth });
        this.atRightAngles.setAttribute("aria-pressed", String(depth !== null));
      });
      this.planesHolder.append(this.orthogonal.element);
    }
    this.orthogonal.open();
    if (isAsked) requestAnimationFrame(() => this.orthogonal.element.scrollIntoView({ block: "nearest" }));
  }

  async #toggleComparison() {
    if (this.comparison?.isOpen()) return this.comparison.close();
    if (!this.comparison) {
      const { Comparison } = await import("./compare.js");
      this.comparison = new Comparison(this, this.state.now, (changes) => {
        this.state.set(changes);
        this.beside.setAttribute("aria-pressed", String(changes.with !== null));
      });
      this.comparisonHolder.append(this.comparison.element);
    }
    this.comparison.open();
  }

  // Colours, or what is drawn over the pictures, have changed.
  #repaint() {
    this.picture.repaint();
    this.orthogonal?.repaint();
    this.comparison?.repaint();
  }

  // Light or dark.
  draw() {
    this.picture?.draw();
    this.orthogonal?.draw();
    this.comparison?.draw();
  }

  // The indices of each layer that is shown, and its name if there are several.
  layersAt() {
    if (!this.channels?.isOn) return [{ name: "", at: this.at }];
    const { channel_axis: axis } = this.array.view;
    return this.channels.shown().map((n) => ({ name: this.channels.list[n].label, at: this.at.map((index, number) => (number === axis ? n : index)) }));
  }

  // What becomes of a computed range when another plane is shown.
  #keepChanged(keep) {
    this.keep = this.colours.settings.keep = keep;
    this.colours.settings.held = null;
    this.state.set({ keep: keep === "lock" ? null : keep, held: null });
    this.colours.seeAll(null);
    this.channels?.seeAll(null);
    if (keep === "all") this.#seeAll();
    this.#repaint();
  }

  // Reads planes at other positions, for the range of all.
  async #seeAll() {
    const seen = this.picture.pieces.overview ?? this.picture.pieces.detail;
    if (!seen) return;
    this.sampled = this.#sample();
    this.asked?.abort();
    const { signal } = (this.asked = new AbortController());
    const channel = this.#mixedAxis();
    const others = this.#others();
    const all = others.reduce((count, { size }) => count * size, 1);
    const count = Math.min(all, SAMPLED);
    const by = Math.ceil(Math.sqrt((count * seen.width * seen.height) / SAMPLED_ELEMENTS));
    const part = ({ from, to, step }) => ({ from, to, step: step * by });
    const found = [];
    try {
      for (let n = 0; n < count; n++) {
        let place = count === all ? n : Math.floor(((n + 0.5) * all) / count);
        const at = [...this.at];
        for (const { number, size } of others) [at[number], place] = [place % size, Math.floor(place / size)];
        found.push((await this.layers(seen.level, part(seen.x), part(seen.y), at, signal)).map(({ values }) => values));
      }
    } catch (error) {
      if (!isAborted(error)) this.readout.textContent = error.message;
      return;
    }
    const joined = found[0].map((_, layer) => Float64Array.from(found.flatMap((layers) => [...layers[layer]])));
    if (channel === null) this.colours.seeAll(joined[0]);
    else this.channels.seeAll(Object.fromEntries(this.channels.shown().map((n, layer) => [n, sorted(joined[layer])])));
    this.readout.textContent = count === all ? `The range is of all ${all} planes.` : `The range is of ${count} of ${all} planes.`;
    this.#repaint();
  }

  #planeControls() {
    const options = this.axes.map((axis) => [axis.number, axis.name]);
    const choose = (which) => (value) => {
      const number = Number(value);
      // The other one goes to where this one was.
      if (which === "x" && number === this.y) this.y = this.x;
      if (which === "y" && number === this.x) this.x = this.y;
      this[which] = number;
      this.#axesChanged();
    };
    this.chooseX = select("Axis across", options, this.x, choose("x"));
    this.chooseY = select("Axis down", options, this.y, choose("y"));
    const box = el("input", { type: "checkbox", onchange: () => {
      this.state.set({ coast: box.checked ? null : "0" });
      this.picture.hasCoast = box.checked;
      this.picture.draw();
    } });
    box.checked = this.picture.hasCoast = this.state.now.coast !== "0";
    this.coast = el("label", { class: "check" }, box, "coast and grid");
    const swap = button("Swap the axes", () => this.swap(), { icon: "swap", title: "Swap the axes (s)" });
    return el(
      "fieldset", { class: "plane" }, el("legend", {}, "Plane"),
      el("div", { class: "row" }, el("span", { class: "name" }, "across"), this.chooseX),
      el("div", { class: "row" }, el("span", { class: "name" }, "down"), this.chooseY, swap),
      this.coast,
    );
  }

  swap() {
    if (!this.picture) return;
    [this.x, this.y] = [this.y, this.x];
    this.#axesChanged();
  }

  #axesChanged() {
    this.chooseX.value = String(this.x);
    this.chooseY.value = String(this.y);
    this.point = null;
    this.picture.point = null;
    replace(this.lineHolder);
    this.colours.forget();
    if (this.region?.isOpen()) this.region.close();
    if (this.orthogonal?.isOpen()) this.orthogonal.close();
    this.atRightAngles.hidden = !this.depths().length;
    const isUsual = this.x === this.array.view.x && this.y === this.array.view.y;
    this.state.set({ x: isUsual ? null : this.x, y: isUsual ? null : this.y, view: null, point: null });
    this.#plane();
  }

  // The axis of the channels, if they are mixed.
  #mixedAxis() {
    return this.channels?.isOn ? this.array.view.channel_axis : null;
  }

  // The axes that are neither in the picture nor mixed.
  #others() {
    return this.axes.filter(({ number }) => ![this.x, this.y, this.#mixedAxis()].includes(number));
  }

  // The plane that is seen now.
  #plane(view) {
    const { x, y } = this;
    const others = this.#others().filter((axis) => axis.size > 1);
    const shown = `${x},${y},${this.#mixedAxis()}`;
    if (this.shownSliders !== shown) {
      this.shownSliders = shown;
      this.sliders.show(others, this.at);
    }
    this.coast.hidden = !isMap(this.axes[x], this.axes[y]);
    this.picture.show(this.planeOf([x, y], this.at), view);
    this.region?.read();
    this.orthogonal?.show();
    this.comparison?.show();
    const places = others.map((axis) => `${axis.name} ${axis.full(this.at[axis.number]) ?? this.at[axis.number]}`);
    this.picture.canvas.setAttribute("aria-label", [`${this.node.name}: ${this.axes[x].name} across, ${this.axes[y].name} down`, ...places].join(", "));
  }

  // The plane of two axes at a position along the others, as a picture takes it. Other levels are those of another array of the same shape.
  planeOf([x, y], at, levelsOf = this.levels()) {
    const { array } = this;
    const levels = levelsOf.map(({ path, shape }) => ({
      path, shape, sizeX: shape[x], sizeY: shape[y], scaleX: array.shape[x] / shape[x], scaleY: array.shape[y] / shape[y],
    }));
    return {
      name: `${x},${y}`,
      key: `${x},${y};${this.#position([x, y], at).join(",")};${this.channels?.key ?? ""};${this.#isNearest()};${this.overlays?.key ?? ""}`,
      x: this.axes[x], y: this.axes[y],
      flipX: false, flipY: Boolean(this.axes[y].upwards),
      aspect: this.#aspect(x, y),
      levels,
    };
  }

  levels({ path, array } = this.node) {
    return array.levels?.length ? array.levels : [{ path, shape: array.shape }];
  }

  // How high an element is for its width: known of axes in the same units, and of pictures squares; nothing where that says little.
  #aspect(x, y) {
    const { view, levels, shape } = this.array;
    const [across, down] = [this.axes[x], this.axes[y]];
    const isSpace = [across, down].every(({ kind }) => ["x", "y", "z"].includes(kind));
    const isSame = across.units === down.units && (across.units || (levels && isSpace));
    const areAngles = isMap(across, down);
    const isKnown = across.step && down.step && (across.metres && down.metres ? true : !across.metres && !down.metres && (isSame || areAngles));
    // On a map, degrees of longitude get shorter towards the poles.
    const narrowing = (areAngles && down.narrowing) || 1;
    const aspect = isKnown ? Math.abs((down.step * (down.metres ?? 1)) / (across.step * narrowing * (across.metres ?? 1))) : 1;
    const isUsual = (x === view.x && y === view.y) || (y === view.x && x === view.y);
    const ratio = (shape[x] / shape[y]) / aspect;
    const most = isKnown ? MAX_KNOWN_RATIO : MAX_RATIO;
    return (isKnown || (isUsual && view.equal)) && ratio < most && 1 / ratio < most ? aspect : null;
  }

  // The indices that tell one plane of two axes from another.
  #position(axes, at) {
    const free = [...axes, this.#mixedAxis()];
    return at.map((index, n) => (free.includes(n) ? "" : index));
  }

  move(axis, index) {
    this.at[axis] = index;
    this.state.set({ at: this.at });
    if (axis === this.array.view.channel_axis) this.#colourChoice();
    this.#plane();
    this.line?.axis === axis ? this.#markLine() : this.#loadLine();
  }

  // A part of a plane of two axes: a layer for each channel that is shown, or one, and the labels over them.
  async piece(level, x, y, signal, axes = [this.x, this.y], position = this.at) {
    const found = await this.layers(level, x, y, position, signal, axes);
    const labels = [];
    for (const overlay of this.overlays?.shown() ?? []) {
      const request = this.overlays.request(overlay, level, x, y, axes, this.#atOf(level, position));
      const layer = request && (await this.#one(request, signal));
      // Levels of odd sizes may differ by an element at the end.
      if (layer?.width === found[0]?.width && layer?.height === found[0]?.height) labels.push({ overlay, ...layer });
    }
    let bytes = 0;
    for (const { values } of this.kept.values()) bytes += values.byteLength;
    for (const [name, { values }] of this.kept) {
      if (bytes <= KEPT || this.kept.size <= 1) break;
      this.kept.delete(name);
      bytes -= values.byteLength;
    }
    const [{ width, height }] = found.length ? found : [{ width: 1, height: 1 }];
    return { layers: found.map(({ values }) => values), labels, width, height, isSingle: found.map(({ isSingle }) => isSingle), reduced: found[0]?.reduced };
  }

  // Levels of a pyramid may be smaller along other axes, too.
  #atOf({ shape }, at) {
    return at.map((index, n) => Math.min(shape[n] - 1, Math.floor((index * shape[n]) / this.array.shape[n])));
  }

  // A layer for each channel that is shown, or one.
  async layers(level, x, y, position, signal, axes = [this.x, this.y]) {
    const at = this.#atOf(level, position);
    const found = [];
    for (const channel of this.channels?.isOn ? this.channels.shown() : [null]) {
      if (channel !== null) at[this.array.view.channel_axis] = channel;
      const parameters = { path: level.path, x: axes[0], y: axes[1], at: at.join(","), across: range(x), down: range(y), reduce: this.#isNearest() ? "nearest" : "auto" };
      found.push(await this.#one(parameters, signal));
    }
    return found;
  }

  async #one(parameters, signal) {
    const name = JSON.stringify(parameters);
    const found = this.kept.get(name) ?? (await slice(parameters, signal));
    // The last used are the last in the map.
    this.kept.delete(name);
    this.kept.set(name, found);
    return found;
  }

  // The mean of two labels is none.
  #isNearest() {
    return this.colours.settings.labels && !this.channels?.isOn;
  }

  // Says what a pixel stands for.
  #block({ reduced, read, shown, isLevel }) {
    const [across, down] = shown;
    const size = `${across} × ${down}`;
    const elements = isLevel ? "elements of a smaller level" : "elements";
    const isMean = !this.#isNearest() && reduced !== "nearest";
    const few = `the mean of some of ${size} ${elements}: more are not read at once; zoom in for all`;
    const isSome = read[0] * read[1] < across * down;
    let text = "";
    if (across * down > 1) text = `Each pixel is ${isMean ? `the mean of ${size} ${elements}` : this.#isNearest() || !isSome ? `the middle one of ${size} ${elements}` : few}.`;
    if (this.block.textContent !== text) this.block.textContent = text;
  }

  // Whether the server would answer: it decodes a bounded number of bytes for one picture.
  fits(level, x, y, axes = [this.x, this.y]) {
    const { chunk_shape: chunk, item_size: size, limits } = this.array;
    if (!chunk) return true;
    const touched = ({ from, to, step }, length) => Math.min(Math.floor((to - 1) / length) - Math.floor(from / length) + 1, Math.ceil((to - from) / step)) * length;
    const elements = chunk.reduce((all, length, n) => all * (n === axes[0] ? touched(x, length) : n === axes[1] ? touched(y, length) : length), 1);
    return elements * (size ?? 1) <= limits.decoded;
  }

  // The pixels of a piece, of blocks of its values.
  paint({ layers: all, labels, isSingle, ...size }, across, down) {
    const found = all.map((values) => reduced({ ...size, values }, across, down, this.#isNearest()));
    const layers = found.map(({ values }) => values);
    const { width, height } = found[0] ?? { width: 1, height: 1 };
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const areSingle = isSingle.map((isSingle) => isSingle && across * down === 1);
    if (this.channels?.isOn) this.channels.paint(layers, areSingle, image.data);
    else paint(layers[0], image.data, { ...this.colours.paint(), isSingle: areSingle[0] });
    this.overlays?.paint(labels.map(({ overlay, values }) => ({ overlay, values: reduced({ ...size, values }, across, down, true).values })), image.data);
    context.putImageData(image, 0, 0);
    return { canvas, width, height };
  }

  #values(piece, kind) {
    if (kind !== "overview" && this.picture.pieces.overview) return;
    const position = `${this.picture.plane.name};${this.#position([this.x, this.y], this.at).join(",")}`;
    if (this.channels?.isOn) this.channels.see(piece.layers, position);
    else this.colours.see(piece.layers[0], position);
    this.#repaint();
    if (this.keep === "all" && this.sampled !== this.#sample()) this.#seeAll();
  }

  // Which planes a range of all is of.
  #sample() {
    return `${this.x},${this.y},${this.channels?.key ?? ""}`;
  }

  #viewNumbers() {
    const { cx, cy, zx, zy } = this.picture.view;
    const rounded = (value) => Number(value.toPrecision(7));
    return zx === zy ? [cx, cy, zx].map(rounded) : [cx, cy, zx, zy].map(rounded);
  }

  #busy(isBusy) {
    this.isBusy = isBusy;
    clearTimeout(this.busyTimer);
    if (isBusy) this.busyTimer = setTimeout(() => (this.progress.hidden = false), 150);
    else this.progress.hidden = true;
    this.element.dataset.busy = isBusy ? "1" : "0";
  }

  #trouble(error) {
    this.sliders?.stop();
    (this.picture ?? { say: (text) => (this.readout.textContent = text) }).say(error.message);
  }

  // Coordinates have come.
  #relabel() {
    if (this.said) this.#say(...this.said);
    this.sliders?.refresh();
    this.draw();
    this.chart?.draw();
  }

  // -- A point.

  // Of a plane at right angles, `axes` are not the picture's.
  #where({ x, y, axes = [this.x, this.y] }) {
    const part = (axis, index) => {
      const text = axis.full(index);
      return text === null ? `${axis.name} ${index}` : `${axis.name} ${text} (${index})`;
    };
    return `${part(this.axes[axes[1]], y)}, ${part(this.axes[axes[0]], x)}`;
  }

  // `values` are numbers or texts: one, or one of each channel with its name; `labels` are names of images of labels and the labels there.
  #say(place, values, { isExact = true, channels = null, name = null, labels = [] } = {}) {
    this.said = [place, values, { isExact, channels, name, labels }];
    const unit = this.array.units ? ` ${this.array.units}` : "";
    const text = values.map((value, n) => {
      const text = typeof value === "number" ? short(value) : plain(value ?? "missing");
      return channels ? `${channels[n]} ${text}` : name ? `${name} (${text})` : text;
    }).join(", ");
    const others = labels.map(([name, label]) => `, ${name} ${short(label)}`).join("");
    replace(this.readout, el("strong", {}, text === "missing" ? text : `${isExact ? "" : "≈ "}${text}${unit}${others}`), ` at ${this.#where(place)}`);
  }

  // The name of a value.
  #name(value) {
    return this.array.view.names?.find(([known]) => known === value)?.[1] ?? null;
  }

  // Tells the value at a place of a picture, and asks for it where the picture does not have it.
  pointer(place, picture = this.picture) {
    clearTimeout(this.pointing);
    if (!place) {
      if (this.point && this.pointSaid) this.#say(...this.pointSaid);
      return;
    }
    const found = picture.valuesAt(place);
    if (picture === this.picture) this.comparison?.tell(place);
    const channels = this.channels?.isOn ? this.channels.labels() : null;
    const isAll = !channels || channels.length === this.channels.list.length;
    if (found) this.#say(place, found.values, { ...found, channels, name: channels ? null : this.#name(found.values[0]) });
    if (found?.isExact && isAll) return;
    this.pointing = setTimeout(() => this.#exact(place, found?.labels), 120);
  }

  // All indices of a place: of the picture, or of a plane at right angles, which goes through the point.
  indices({ x, y, axes = [this.x, this.y] }) {
    const at = [...this.at];
    if (this.point) [at[this.x], at[this.y]] = [this.point.x, this.point.y];
    [at[axes[0]], at[axes[1]]] = [x, y];
    return at;
  }

  async #exact(place, labels = []) {
    const { path } = this;
    const at = this.indices(place);
    try {
      if (this.channels?.isOn) {
        // Every channel's, also of those that are hidden.
        at[this.array.view.channel_axis] = 0;
        const { low } = await json("line", { path, at: at.join(","), axis: this.array.view.channel_axis, to: this.channels.list.length });
        this.#say(place, low, { channels: this.channels.list.map(({ label }) => label), labels });
      } else {
        const { text, name } = await json("value", { path, at: at.join(",") });
        this.#say(place, [text], { name, labels });
      }
    } catch (error) {
      if (!isAborted(error)) this.readout.textContent = error.message;
    }
  }

  async choosePoint(place) {
    if (!place || place.x >= this.axes[this.x].size || place.y >= this.axes[this.y].size) return;
    this.point = place;
    this.picture.point = place;
    this.picture.draw();
    this.orthogonal?.show();
    this.comparison?.show();
    this.state.set({ point: [place.x, place.y] });
    await this.#exact(place);
    this.pointSaid = this.said;
    await this.#loadLine();
  }

  // -- The line through the point.

  async #loadLine() {
    if (!this.point) return;
    const candidates = this.axes.filter((axis) => axis.size > 1);
    if (!candidates.length) return;
    const others = candidates.filter(({ number }) => number !== this.x && number !== this.y);
    const wanted = this.state.now.line;
    const axis = candidates.find(({ number }) => number === wanted) ?? others[0] ?? this.axes[this.x];
    if (!this.chart) {
      this.chart = new Chart({ height: 190, onPick: (index) => this.#pickOnLine(index) });
      this.chooseLine = select("Axis of the line", candidates.map(({ number, name }) => [number, name]), axis.number, (value) => {
        this.state.set({ line: Number(value) });
        this.#loadLine();
      });
    }
    this.chooseLine.value = String(axis.number);
    if (!this.lineHolder.firstChild) {
      const label = id("line");
      this.chooseLine.id = label;
      replace(
        this.lineHolder,
        el("div", { class: "head" }, el("h2", {}, "Through the point, along"), this.chooseLine, button("Close the line", () => this.#closeLine(), { icon: "close" })),
        this.chart.element,
      );
    }
    try {
      const at = this.indices(this.point);
      at[axis.number] = 0;
      const found = await json("line", { path: this.path, axis: axis.number, at: at.join(",") });
      this.line = { ...found, axis: axis.number };
      this.#markLine();
    } catch (error) {
      replace(this.lineHolder, el("p", { class: "trouble" }, error.message));
      this.chart = null;
    }
  }

  #markLine() {
    const { axis } = this.line;
    const marked = axis === this.x ? this.point.x : axis === this.y ? this.point.y : this.at[axis];
    this.chart.show(this.line, this.axes[axis], { marked, units: this.array.units ?? "", name: this.node.name });
  }

  #pickOnLine(index) {
    const { axis } = this.line;
    if (axis === this.x || axis === this.y) {
      this.choosePoint(axis === this.x ? { ...this.point, x: index } : { ...this.point, y: index });
    } else {
      this.sliders.set(axis, index);
    }
  }

  #closeLine() {
    replace(this.lineHolder);
    this.chart?.end();
    this.chart = this.line = this.point = this.picture.point = this.pointSaid = this.said = null;
    this.state.set({ point: null, line: null });
    if (this.orthogonal?.isOpen()) this.orthogonal.close();
    this.draw();
    this.picture.canvas.focus();
  }

  // -- An array of one axis.

  #lineView() {
    const axis = this.axes[this.array.view.x];
    const { at } = this;
    // As much as the server decodes for one answer.
    const { chunk_shape: chunk, item_size: size, limits } = this.array;
    const each = (chunk ?? []).reduce((all, length, n) => (n === axis.number ? all : all * length), size ?? 1);
    const most = Math.max(1, Math.min(axis.size, Math.floor(limits.decoded / each) - (chunk?.[axis.number] ?? 0)));
    const load = async (from, to) => {
      this.asked?.abort();
      this.asked = new AbortController();
      this.#busy(true);
      try {
        const found = await json("line", { path: this.path, axis: axis.number, at: at.join(","), from, to }, this.asked.signal);
        this.chart.show(found, axis, { units: this.array.units ?? "", name: this.node.name });
        this.state.set({ view: from || to < axis.size ? [from, to] : null });
      } catch (error) {
        if (isAborted(error)) return;
        this.readout.textContent = error.message;
      }
      this.#busy(false);
    };
    this.progress = el("div", { class: "progress", hidden: true });
    this.chart = new Chart({ height: 360, onZoom: load, onPick: null });
    const tools = el(
      "div", { class: "tools", role: "toolbar", "aria-label": "Line" },
      button("Zoom in", () => this.chart.zoom(0.6), { icon: "plus" }),
      button("Zoom out", () => this.chart.zoom(1.6), { icon: "minus" }),
      button("Show all", () => load(0, most), { icon: "fit" }),
    );
    replace(this.element, el("div", { class: "main" }, el("div", { class: "stage" }, this.progress, tools, this.chart.element), this.readout));
    const [from, to] = this.state.now.view ?? [];
    if (to > from && from >= 0 && to <= axis.size) load(Math.floor(from), Math.ceil(to));
    else load(0, most);
    if (most < axis.size) this.readout.textContent = "Too long to be shown whole: this is a part of it.";
  }

  // -- Keys, and the picture as a file.

  // Keys of a picture: arrows move it, with Shift its point; Enter chooses its middle.
  keyOn(event, picture, point, choose) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { x, y, flipY } = picture.plane;
    const middle = () => picture.placeAt(picture.width / 2, picture.height / 2) ?? { x: 0, y: 0 };
    const within = (value, { size }) => Math.max(0, Math.min(size - 1, value));
    const go = (dx, dy) => {
      if (!event.shiftKey) return picture.pan(-dx * KEY_STEP, -dy * KEY_STEP);
      const from = point ?? middle();
      choose({ x: within(from.x + dx, x), y: within(from.y + (flipY ? -dy : dy), y) });
    };
    const actions = {
      ArrowLeft: () => go(-1, 0), ArrowRight: () => go(1, 0), ArrowUp: () => go(0, -1), ArrowDown: () => go(0, 1),
      Enter: () => choose(middle()),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  // Keys that need no focus.
  key(key) {
    const actions = {
      "+": () => this.picture?.zoom(1.6), "=": () => this.picture?.zoom(1.6), "-": () => this.picture?.zoom(1 / 1.6), 0: () => this.picture?.setView(null),
      f: () => this.fullScreen(), r: () => this.picture && this.#toggleRegion(),
      o: () => this.picture && this.#togglePlanes(), c: () => this.picture && this.#toggleComparison(),
      ",": () => this.sliders?.step(null, -1), ".": () => this.sliders?.step(null, 1), p: () => this.sliders?.toggle(null), s: () => this.swap(),
    };
    actions[key]?.();
    return key in actions;
  }

  #save() {
    const { settings } = this.colours;
    const [low, high] = this.colours.range();
    const seen = this.picture.seen();
    const part = ([from, to]) => `${Math.floor(from)}:${Math.ceil(to)}`;
    const query = new URLSearchParams({ path: this.path, x: this.x, y: this.y, at: this.at.join(","), across: part(seen.x), down: part(seen.y) });
    if (settings.labels) query.set("labels", "1");
    else if (this.channels?.isOn) for (const [name, value] of this.channels.parameters()) query.append(name, value);
    else {
      query.set("map", this.colours.mapName());
      if (!this.colours.hasNone()) query.set("range", `${low},${high}`);
      if (settings.log) query.set("log", "1");
    }
    if (this.picture.hasCoast && !this.coast.hidden) query.set("coast", "1");
    // Of several images of labels the first: a figure has one.
    const [overlay] = this.overlays?.shown() ?? [];
    if (overlay) {
      query.set("overlay", overlay.levels[0].path);
      query.set("opacity", this.overlays.opacity);
    }
    const anchor = el("a", { href: `/-/plot.png?${query}`, download: `${this.node.name || "array"}.png` });
    anchor.click();
  }
}
