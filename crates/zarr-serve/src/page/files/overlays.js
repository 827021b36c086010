// Labels over an image: which are shown, and how opaque.

import { el } from "./dom.js";
import { cover } from "./colour.js";

const USUAL = 0.5;

export class Overlays {
  // `overlays` are `{name, axes, levels, label_colors}`, where `axes` are the image's axes that the labels have.
  constructor(overlays, now, onChange) {
    const chosen = (now.overlay ?? "").split("/");
    this.list = overlays.map((overlay) => ({ ...overlay, own: new Map(overlay.label_colors), isShown: chosen.includes(encodeURIComponent(overlay.name)) }));
    const opacity = Number(now.opacity ?? USUAL);
    this.opacity = opacity >= 0 && opacity <= 1 ? opacity : USUAL;
    const tell = () => {
      const names = this.shown().map(({ name }) => encodeURIComponent(name)).join("/");
      onChange({ overlay: names || null, opacity: this.opacity === USUAL ? null : this.opacity });
    };
    const row = (overlay) => {
      const box = el("input", { type: "checkbox", onchange: () => ((overlay.isShown = box.checked), tell()) });
      box.checked = overlay.isShown;
      return el("label", { class: "check" }, box, overlay.name);
    };
    const slider = el("input", { type: "range", min: 0, max: 1, step: 0.05, value: this.opacity, "aria-label": "Opacity of the labels", oninput: () => ((this.opacity = slider.valueAsNumber), tell()) });
    this.element = el(
      "fieldset", { class: "overlays" }, el("legend", {}, "Labels"),
      el("div", { class: "list" }, this.list.map(row)),
      el("div", { class: "row" }, el("span", { class: "name", "aria-hidden": "true" }, "opacity"), slider),
    );
  }

  shown() {
    return this.list.filter(({ isShown }) => isShown);
  }

  get key() {
    return this.shown().map(({ name }) => name).join("/");
  }

  // The request for labels that are over a part of a level of the image: of their level that is as large, else of a larger one.
  request({ axes, levels }, level, across, down, [x, y], at) {
    const numbers = [axes.indexOf(x), axes.indexOf(y)];
    const fits = ({ shape }) => numbers[0] >= 0 && numbers[1] >= 0 && shape[numbers[0]] >= level.shape[x] && shape[numbers[1]] >= level.shape[y];
    const own = levels.filter(fits).at(-1);
    if (!own) return null;
    const part = ({ from, to, step }, n, size) => {
      const by = Math.round(own.shape[n] / size);
      return `${from * by}:${Math.min(own.shape[n], to * by)}:${step * by}`;
    };
    const indices = axes.map((axis, n) => Math.min(own.shape[n] - 1, Math.floor((at[axis] * own.shape[n]) / level.shape[axis])));
    return { path: own.path, x: numbers[0], y: numbers[1], at: indices.join(","), across: part(across, numbers[0], level.shape[x]), down: part(down, numbers[1], level.shape[y]), reduce: "nearest" };
  }

  // Puts layers of labels, `{values, overlay}`, over pixels.
  paint(layers, out) {
    for (const { values, overlay } of layers) cover(values, out, overlay.own, this.opacity);
  }
}
