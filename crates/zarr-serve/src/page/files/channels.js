// The channels of an image, in colours that are added: those of OME, or red, green and blue.

import { el, replace } from "./dom.js";
import { mix, range, sorted } from "./colour.js";

const COLOURS = ["ff00ff", "00ff00", "00ffff", "ffff00", "ff4040", "4080ff", "ff9000", "ffffff"];

export class Channels {
  constructor(array, now, onChange) {
    const { view } = array;
    this.onChange = onChange;
    const count = array.shape[view.channel_axis];
    const chosen = typeof now.channels === "string" ? null : now.channels;
    this.list = Array.from({ length: Math.min(count, 16) }, (_, n) => {
      const known = array.channels?.[n] ?? {};
      return { n, label: known.label ?? (view.rgb ? ["red", "green", "blue", "alpha"][n] : `channel ${n}`), colour: known.color ?? (view.rgb ? ["ff0000", "00ff00", "0000ff"][n] : COLOURS[n % COLOURS.length]), window: known.window ?? (view.rgb ? view.rgb_range : null), isShown: n < (view.rgb ? 3 : 8) && known.active !== false };
    });
    const hidden = now.hidden ?? "";
    for (const letter of chosen ?? hidden) {
      const channel = this.list[letter.charCodeAt(0) - 97];
      if (channel) channel.isShown = false;
    }
    this.isOn = now.mix ? now.mix === "yes" : Boolean(view.rgb || array.channels?.length > 0);
    this.element = el("fieldset", { class: "channels" }, el("legend", {}, "Channels"));
    const together = el("input", { type: "checkbox", onchange: () => this.#change(() => (this.isOn = together.checked)) });
    together.checked = this.isOn;
    this.rows = el("div", { class: "list" });
    this.element.append(el("label", { class: "check" }, together, "together, in their colours"), this.rows);
    this.#draw();
  }

  #change(action) {
    action();
    this.#draw();
    const hidden = this.list.filter(({ isShown }) => !isShown).map(({ n }) => String.fromCharCode(97 + n)).join("");
    this.onChange({ mix: this.isOn ? "yes" : "no", hidden: hidden || null });
  }

  #draw() {
    replace(this.rows, this.isOn && this.list.map((channel) => {
      const box = el("input", { type: "checkbox", onchange: () => this.#change(() => (channel.isShown = box.checked)) });
      box.checked = channel.isShown;
      const patch = el("span", { class: "patch", "aria-hidden": "true" });
      patch.style.backgroundColor = `#${channel.colour}`;
      return el("label", { class: "check" }, box, patch, channel.label);
    }));
  }

  get key() {
    return this.isOn ? this.shown().join(",") : "";
  }

  // The indices of those that are shown.
  shown() {
    return this.list.filter(({ isShown }) => isShown).map(({ n }) => n);
  }

  // Channels without a window have one from the values that are seen.
  see(layers) {
    this.shown().forEach((n, at) => (this.list[n].seen = range("0.1,99.9%", sorted(layers[at]))));
  }

  mix(layers, out) {
    const shown = this.shown();
    mix(layers.map((values, at) => {
      const { window, seen, colour } = this.list[shown[at]] ?? this.list[0];
      const [low, high] = window ?? seen ?? [0, 1];
      return { values, low, high, colour: [0, 2, 4].map((from) => parseInt(colour.slice(from, from + 2), 16)) };
    }), out);
  }
}
