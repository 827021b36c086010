// Another array of the same shape beside the picture, which moves with it, or the difference of the two.

import { button, el, id, replace, select } from "./dom.js";
import { isAborted, json } from "./api.js";
import { Picture } from "./picture.js";
import { paint, percentile, reduced, sorted } from "./colour.js";
import { count, short, times } from "./number.js";

const MODES = [["beside", "beside"], ["difference", "the difference"]];

export class Comparison {
  // `view` is the data's; `now` what a link had; `onChange({with, difference})` is told what a link has, `null` when it is closed.
  constructor(view, now, onChange) {
    Object.assign(this, { view, onChange, path: now.with ?? "", isDifference: now.difference === "1", other: null });
    this.picture = new Picture({
      fetch: (level, x, y, signal) => this.#piece(level, x, y, signal),
      paint: (piece, across, down) => (this.isDifference ? this.#paintDifference(piece, across, down) : view.paint(piece, across, down)),
      fits: (level, x, y) => view.fits(level, x, y),
      isExact: () => view.colours.settings.labels,
      room: () => view.picture.element.offsetHeight || 300,
      onPointer: (place) => view.pointer(place),
      onPoint: (place) => view.choosePoint(place),
      onView: () => view.picture.setView(this.picture.view && { ...this.picture.view }),
      onTrouble: (error) => this.picture.say(error.message),
      onPart() {},
      onBlock() {},
      onBusy() {},
      onDraw() {},
      onValues: (piece) => this.isDifference && this.#measure(piece),
    });
    this.picture.canvas.addEventListener("keydown", (event) => view.keyOn(event, this.picture, view.point, (place) => view.choosePoint(place)));
    const list = (this.names = el("datalist", { id: id("arrays") }));
    this.input = el("input", { type: "text", list: list.id, value: this.path, placeholder: "path of an array", "aria-label": "Array to compare with", onchange: () => this.#choose(this.input.value) });
    this.mode = select("How it is compared", MODES, this.isDifference ? "difference" : "beside", (mode) => {
      this.isDifference = mode === "difference";
      this.#changed();
    });
    this.note = el("p", { class: "readout", role: "status" });
    this.stage = el("div", { class: "stage" }, this.picture.element);
    this.element = el(
      "section", { class: "comparison", "aria-label": "Comparison" },
      el("div", { class: "head" }, el("h2", {}, "Compare with"), this.input, list, this.mode, button("Close the comparison", () => this.close(), { icon: "close" })),
      this.stage, this.note,
    );
    this.element.hidden = true;
  }

  isOpen() {
    return !this.element.hidden;
  }

  open() {
    this.element.hidden = false;
    this.view.picture.resize();
    this.#suggest();
    if (this.path) this.#choose(this.path);
    else {
      this.stage.hidden = true;
      this.note.textContent = "Choose an array of the same shape: its path begins with the name of what is served.";
      this.input.focus();
    }
  }

  close() {
    this.asked?.abort();
    this.element.hidden = true;
    this.other = null;
    this.onChange({ with: null, difference: null });
    this.view.picture.resize();
    this.view.picture.canvas.focus();
  }

  end() {
    this.asked?.abort();
    this.picture.end();
  }

  // The names of arrays of this shape in the same group.
  async #suggest() {
    const parent = this.view.path.split("/").slice(0, -1).join("/");
    if (!parent) return;
    try {
      const { children } = await json("children", { path: parent });
      const shape = times(this.view.array.shape);
      const same = children.filter((child) => child.shape && times(child.shape) === shape);
      const paths = same.map(({ name }) => `${parent}/${name}`).filter((path) => path !== this.view.path);
      replace(this.names, paths.map((path) => el("option", { value: path })));
    } catch {
      // The path can be typed.
    }
  }

  async #choose(path) {
    this.path = path.trim().replace(/^\/+|\/+$/g, "");
    this.asked?.abort();
    const { signal } = (this.asked = new AbortController());
    this.other = null;
    this.stage.hidden = true;
    try {
      const node = await json("node", { path: this.path }, signal);
      const [expected, found] = [this.view.array.shape, node.array?.shape];
      if (!found) this.note.textContent = `${this.path} is a group: choose an array.`;
      else if (times(found) !== times(expected)) this.note.textContent = `${this.path} has the shape ${times(found)}: expected ${times(expected)}, the shape of this array.`;
      else this.other = node;
    } catch (error) {
      if (isAborted(error)) return;
      this.note.textContent = error.message;
    }
    if (this.other) this.#changed();
  }

  // Another array, or another way to compare.
  #changed() {
    this.onChange({ with: this.path || null, difference: this.isDifference ? "1" : null });
    if (!this.other) return;
    this.stage.hidden = false;
    this.note.textContent = "";
    this.picture.plane = null;
    this.show();
    this.follow();
  }

  // The levels of the other array; of the difference, those that both have.
  #levels() {
    const levels = this.view.levels(this.other);
    const own = this.view.levels();
    return this.isDifference ? levels.filter(({ shape }) => own.some((level) => times(level.shape) === times(shape))) : levels;
  }

  // The plane, the point, or the layers of the picture have changed.
  show() {
    const { view } = this;
    if (!this.isOpen() || !this.other) return;
    const axes = [view.x, view.y];
    this.picture.point = view.point;
    const plane = view.planeOf(axes, view.at, this.#levels());
    const what = this.isDifference ? "difference" : "beside";
    this.picture.show({ ...plane, name: `${plane.name} ${what} ${this.path}`, key: `${plane.key} ${what} ${this.path}` });
    const name = this.isDifference ? `${view.node.name} minus ${this.path}` : this.path;
    this.picture.canvas.setAttribute("aria-label", `${name}: ${axes.map((axis) => view.axes[axis].name).join(" across, ")} down`);
  }

  // The picture was moved.
  follow() {
    if (!this.isOpen() || !this.other) return;
    const wanted = this.view.picture.view;
    const isSame = JSON.stringify(wanted) === JSON.stringify(this.picture.view);
    if (isSame) return;
    this.picture.view = wanted && { ...wanted };
    this.picture.update();
  }

  async #piece(level, x, y, signal) {
    const { view } = this;
    const found = await view.layers(level, x, y, view.at, signal);
    const [{ width, height, reduced }] = found;
    if (!this.isDifference) return { layers: found.map(({ values }) => values), labels: [], width, height, isSingle: found.map(({ isSingle }) => isSingle), reduced };
    const own = view.levels().find(({ shape }) => times(shape) === times(level.shape));
    const [mine] = await view.layers(own, x, y, view.at, signal);
    const values = Float64Array.from(mine.values, (value, n) => value - found[0].values[n]);
    return { layers: [values], labels: [], width, height, isSingle: [false], reduced };
  }

  // How far the two are apart; the colours reach as far in both directions.
  #measure({ layers: [values], x, y }) {
    const found = sorted(values);
    const most = Math.max(Math.abs(found[0] ?? 0), Math.abs(found.at(-1) ?? 0));
    const usual = Math.max(Math.abs(percentile(found, 2)), Math.abs(percentile(found, 98)));
    this.reach = usual || most;
    const differ = found.reduce((sum, value) => sum + (value !== 0), 0);
    const channels = this.view.channels?.isOn && this.view.channels.shown().length > 1 ? `Of ${this.view.channels.labels()[0]}: ` : "";
    const of = x.step * y.step > 1 ? "values of this picture" : "elements";
    const summary = found.length ? `${count(differ)} of ${count(found.length)} ${of} differ, by ${short(most)} at most; colours from ${short(-this.reach)} to ${short(this.reach)}.` : "No element is in both.";
    this.note.textContent = `${channels}this array minus the other: ${summary}`;
    this.picture.repaint();
  }

  #paintDifference({ layers: [values], ...size }, across, down) {
    const found = reduced({ ...size, values }, across, down, false);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [found.width, found.height];
    const context = canvas.getContext("2d");
    const image = context.createImageData(found.width, found.height);
    const reach = this.reach || 1;
    paint(found.values, image.data, { colours: this.view.maps[this.view.array.view.signed_map], low: -reach, high: reach, log: false, isLabels: false, isSingle: false });
    context.putImageData(image, 0, 0);
    return { canvas, width: found.width, height: found.height };
  }

  // The value of the other array, or the difference, where the pointer is in either picture.
  tell(place) {
    if (!this.isOpen() || !this.other || !place) return;
    const found = this.picture.valuesAt(place);
    if (!found) return;
    const values = found.values.map((value) => (Number.isNaN(value) ? "missing" : short(value))).join(", ");
    this.note.textContent = `${this.isDifference ? "Difference" : this.path}: ${found.isExact ? "" : "≈ "}${values}`;
  }

  repaint() {
    if (this.isOpen() && this.other) this.picture.repaint();
  }

  draw() {
    if (this.isOpen() && this.other) this.picture.draw();
  }
}
