// Planes at right angles to the picture, through its point: across its x and y, down a third axis. A click in one moves the others.

import { button, el, select } from "./dom.js";
import { Picture } from "./picture.js";

// They are no higher than that, in pixels.
const MAX_HEIGHT = 360;

export class Orthogonal {
  // `view` is the data's; `depth` the axis that a link had; `onChange(depth)` is told what a link has, `null` when they are closed.
  constructor(view, depth, onChange) {
    Object.assign(this, { view, onChange });
    this.depth = depth ?? null;
    this.pictures = [0, 1].map((which) => this.#picture(which));
    this.head = el("div", { class: "head" });
    this.element = el(
      "section", { class: "line", "aria-label": "Planes at right angles" }, this.head,
      el("div", { class: "pair" }, this.pictures.map(({ element }) => el("div", { class: "stage" }, element))),
    );
    this.element.hidden = true;
  }

  #picture(which) {
    const { view } = this;
    const picture = new Picture({
      fetch: (level, x, y, signal) => view.piece(level, x, y, signal, this.axes(which), view.indices(view.point)),
      paint: (piece, across, down) => view.paint(piece, across, down),
      fits: (level, x, y) => view.fits(level, x, y, this.axes(which)),
      isExact: () => view.colours.settings.labels,
      room: () => MAX_HEIGHT,
      onPointer: (place) => view.pointer(place && { ...place, axes: this.axes(which) }, picture),
      onPoint: (place) => this.choose(which, place),
      onTrouble: (error) => picture.say(error.message),
      onPart: () => picture.say("Too large to be shown whole: this is a part of it."),
      onBlock() {},
      onBusy() {},
      onDraw() {},
      onValues() {},
      onView() {},
    });
    picture.hasCross = true;
    picture.canvas.addEventListener("keydown", (event) => view.keyOn(event, picture, picture.point, (place) => this.choose(which, place)));
    return picture;
  }

  // The axes across and down one of the two.
  axes(which) {
    return [which === 0 ? this.view.x : this.view.y, this.depth];
  }

  isOpen() {
    return !this.element.hidden;
  }

  // Without a point they go through the middle of what is seen.
  open() {
    const { view } = this;
    const depths = view.depths();
    if (!depths.some(({ number }) => number === this.depth)) this.depth = (depths.find(({ kind }) => kind === "z") ?? depths.at(-1)).number;
    const choice = select("Axis at right angles", depths.map(({ number, name }) => [number, name]), this.depth, (value) => {
      this.depth = Number(value);
      this.onChange(this.depth);
      this.show();
    });
    this.head.replaceChildren(el("h2", {}, "Planes at right angles, along"), choice, button("Close the planes", () => this.close(), { icon: "close" }));
    this.element.hidden = false;
    view.picture.hasCross = true;
    this.onChange(this.depth);
    if (view.point) return this.show();
    const { x, y } = view.picture.seen();
    const middle = ([from, to]) => Math.floor((from + to) / 2);
    view.choosePoint({ x: middle(x), y: middle(y) });
  }

  close() {
    this.element.hidden = true;
    this.view.picture.hasCross = false;
    this.view.picture.draw();
    this.onChange(null);
    this.view.picture.canvas.focus();
  }

  end() {
    for (const picture of this.pictures) picture.end();
  }

  // The point, the position, or what is shown of it has changed.
  show() {
    const { view } = this;
    if (!this.isOpen() || !view.point) return;
    // The channels may have been mixed meanwhile, along the axis that is shown here.
    if (!view.depths().some(({ number }) => number === this.depth)) return this.close();
    view.picture.draw();
    this.pictures.forEach((picture, which) => {
      const [across, down] = this.axes(which);
      const fixed = view.axes[which === 0 ? view.y : view.x];
      const index = which === 0 ? view.point.y : view.point.x;
      picture.point = { x: which === 0 ? view.point.x : view.point.y, y: view.at[this.depth] };
      picture.show(view.planeOf([across, down], view.indices(view.point)));
      const name = `${view.axes[across].name} across, ${view.axes[down].name} down, ${fixed.name} ${fixed.full(index) ?? index}`;
      picture.canvas.setAttribute("aria-label", name);
    });
  }

  // A point in one of the two: the picture goes to its depth.
  choose(which, place) {
    const { view } = this;
    if (!place) return;
    const { point } = view;
    if (place.y !== view.at[this.depth]) view.sliders.set(this.depth, place.y);
    view.choosePoint(which === 0 ? { x: place.x, y: point.y } : { x: point.x, y: place.x });
  }

  repaint() {
    if (this.isOpen()) for (const picture of this.pictures) picture.repaint();
  }

  draw() {
    if (this.isOpen()) for (const picture of this.pictures) picture.draw();
  }
}
