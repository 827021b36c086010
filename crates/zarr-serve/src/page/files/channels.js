// The channels of an image, in colours that are added: those of OME, or red, green and blue. Each has a window, the values that are
// black and of full colour, which is what the image declares, what is chosen, or computed from what is seen.

import { button, el, replace } from "./dom.js";
import { blend, mix, range, sorted } from "./colour.js";
import { Distribution } from "./distribution.js";

const MAX_CHANNELS = 32;
const AUTOMATIC = "0.1,99.9%";
// Where the server knows no colours.
const COLOURS = ["ff00ff", "00ff00", "00ffff", "ffff00", "ff0000", "0000ff"];
// A letter for each channel, in links.
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEF";

export class Channels {
  // `keep` is as of the colours.
  constructor(array, now, keep, onChange) {
    const { view } = array;
    Object.assign(this, { onChange, keep, isRgb: Boolean(view.rgb) });
    const count = Math.min(array.shape[view.channel_axis], MAX_CHANNELS);
    this.list = Array.from({ length: count }, (_, n) => {
      const known = this.isRgb ? {} : (array.channels?.[n] ?? {});
      const label = known.label ?? (this.isRgb ? ["red", "green", "blue", "opacity"][n] : `channel ${n}`);
      const colour = known.color ?? COLOURS[n] ?? "ffffff";
      return { n, label, colour, ownColour: colour, declared: known.window ?? (this.isRgb ? view.rgb_range : null), chosen: null, auto: null, layer: null, inverted: known.inverted === true, isShown: known.active !== false };
    });
    // Where none is active, all are shown.
    if (!this.list.some(({ isShown }) => isShown)) for (const channel of this.list) channel.isShown = true;
    this.usual = this.#hidden();
    if (typeof now.hidden === "string") for (const channel of this.list) channel.isShown = !now.hidden.includes(LETTERS[channel.n]);
    this.#parse(now.windows ?? "", now.colours ?? "");
    this.isOn = now.mix ? now.mix === "yes" : true;
    this.element = el("fieldset", { class: "channels" }, el("legend", {}, "Channels"));
    const together = el("input", { type: "checkbox", onchange: () => this.#change(() => (this.isOn = together.checked)) });
    together.checked = this.isOn;
    this.rows = el("div", { class: "list" });
    this.element.append(el("label", { class: "check" }, together, "together, in their colours"), this.rows);
    this.#draw();
  }

  // `0:100:900,1:auto,2:auto:5:90`: a chosen window, one that is computed, and one that was computed and stays; `0:ff00ff`.
  #parse(windows, colours) {
    for (const text of windows.split(",")) {
      const [n, first, ...rest] = text.split(":");
      const channel = this.list[n === "" ? -1 : n];
      const ends = (first === "auto" ? rest : [first, ...rest]).map(Number);
      const isRange = ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1];
      if (!channel || (first !== "auto" && !isRange)) continue;
      channel.chosen = first === "auto" ? "auto" : ends;
      if (first === "auto" && isRange) channel.auto = ends, channel.isHeld = true;
    }
    for (const text of colours.split(",")) {
      const [n, colour] = text.split(":");
      if (this.list[n] && /^[0-9a-f]{6}$/.test(colour)) this.list[n].colour = colour;
    }
  }

  // What a link says of the windows.
  #windows() {
    const text = ({ n, chosen, auto, isHeld }) => {
      if (Array.isArray(chosen)) return `${n}:${chosen.join(":")}`;
      if (isHeld && auto) return `${n}:auto:${auto.join(":")}`;
      return chosen === "auto" ? `${n}:auto` : null;
    };
    return this.list.map(text).filter(Boolean).join(",") || null;
  }

  #hidden() {
    return this.list.filter(({ isShown }) => !isShown).map(({ n }) => LETTERS[n]).join("");
  }

  #change(action) {
    action();
    this.#draw();
    this.#tell();
  }

  #tell() {
    const hidden = this.#hidden();
    const colours = this.list.filter(({ colour, ownColour }) => colour !== ownColour).map(({ n, colour }) => `${n}:${colour}`).join(",");
    // A hidden set that is empty differs from the one that is usual.
    this.onChange({ mix: this.isOn ? null : "no", hidden: hidden === this.usual ? null : hidden || "-", windows: this.#windows(), colours: colours || null });
  }

  #draw() {
    const row = (channel) => {
      const box = el("input", { type: "checkbox", onchange: () => this.#change(() => (channel.isShown = box.checked)) });
      box.checked = channel.isShown;
      if (this.isRgb) return el("label", { class: "check" }, box, channel.label);
      const patch = el("span", { class: "patch", "aria-hidden": "true" });
      patch.style.backgroundColor = `#${channel.colour}`;
      const isOpen = this.open === channel.n;
      const edit = button(`Window and colour of ${channel.label}`, () => {
        this.open = isOpen ? null : channel.n;
        this.#draw();
        this.rows.querySelectorAll(".channel button.icon")[channel.n]?.focus();
      }, { icon: "window", "aria-expanded": String(isOpen) });
      return [el("div", { class: "channel" }, el("label", { class: "check" }, box, patch, channel.label), edit), isOpen && this.#editor(channel)];
    };
    this.distribution = null;
    replace(this.rows, this.isOn && this.list.map(row));
  }

  #editor(channel) {
    const { label } = channel;
    this.distribution = new Distribution(label, (ends) => {
      channel.chosen = ends;
      channel.isHeld = false;
      this.#showRange();
      this.#tell();
    });
    const colour = el("input", { type: "color", value: `#${channel.colour}`, "aria-label": `Colour of ${label}`, oninput: () => {
      channel.colour = colour.value.slice(1);
      this.rows.querySelectorAll(".patch")[channel.n].style.backgroundColor = colour.value;
      this.#tell();
    } });
    const choose = (chosen) => () => this.#change(() => {
      Object.assign(channel, { chosen, auto: null, isHeld: false });
      this.#compute(channel);
    });
    const isAlone = channel.isShown && this.shown().length === 1;
    const others = () => this.#change(() => {
      for (const other of this.list) other.isShown = isAlone ? !this.usual.includes(LETTERS[other.n]) : other === channel;
    });
    const editor = el(
      "div", { class: "editor" },
      this.distribution.bars, this.distribution.numbers,
      el("div", { class: "row" }, colour,
        button("Auto", choose("auto"), { title: "From the values that are seen" }),
        channel.declared && button("Declared", choose(null), { title: "As the image says" }),
        button("Only", others, { "aria-pressed": String(isAlone), "aria-label": `Only ${label}`, title: "Show no other channel" })),
    );
    this.#showRange();
    return editor;
  }

  #showRange() {
    const channel = this.list[this.open];
    if (!channel || !this.distribution) return;
    const values = channel.layer ? (channel.values ??= sorted(channel.layer)) : new Float64Array();
    this.distribution.show(values, this.window(channel), { isExact: Array.isArray(channel.chosen) });
  }

  get key() {
    return this.isOn ? this.shown().join(",") : "";
  }

  // The indices of those that are shown.
  shown() {
    return this.list.filter(({ isShown }) => isShown).map(({ n }) => n);
  }

  #isAutomatic({ chosen, declared }) {
    return chosen === "auto" || (!chosen && !declared);
  }

  // Whether the image declares a window of any channel.
  hasDeclared() {
    return !this.isRgb && this.list.some(({ declared }) => declared);
  }

  // The window that one channel has when it is shown alone, by a colour map; nothing, if it is to be computed.
  declared(n) {
    const channel = this.list[n];
    return !channel || this.isRgb || this.#isAutomatic(channel) ? null : this.window(channel);
  }

  // The names of those that are shown.
  labels() {
    return this.shown().map((n) => this.list[n].label);
  }

  // The two ends of a channel.
  window(channel) {
    const { chosen, declared, auto } = channel;
    return Array.isArray(chosen) ? chosen : this.#isAutomatic(channel) ? (auto ?? [0, 1]) : declared;
  }

  #compute(channel) {
    if (!channel.layer) return;
    const all = this.keep() === "all" && this.all?.[channel.n];
    channel.auto = range(AUTOMATIC, all || (channel.values ??= sorted(channel.layer)));
  }

  // The values that are seen: channels whose window is not declared have one from them. `position` says which plane they are of.
  see(layers, position) {
    const isOther = this.position !== undefined && this.position !== position;
    this.position = position;
    let isNew = false;
    this.shown().forEach((n, at) => {
      const channel = this.list[n];
      Object.assign(channel, { layer: layers[at], values: null });
      if (!this.#isAutomatic(channel) || (channel.isHeld && channel.auto)) return;
      // The range stays while another plane is shown.
      if (isOther && this.keep() === "lock" && channel.auto) isNew = channel.isHeld = true;
      else this.#compute(channel);
    });
    if (this.isRgb && !this.list[0].declared) this.#seeColours(layers);
    this.#showRange();
    if (isNew) this.#tell();
  }

  // Colours of other numbers than bytes have one range: that of a fraction, or of most of them.
  #seeColours(layers) {
    const shown = this.shown();
    const all = sorted(Float64Array.from(layers.flatMap((layer, at) => (shown[at] < 3 ? [...layer] : []))));
    const isUnit = layers.every((layer) => layer.every((value) => !(value < 0 || value > 1)));
    const ends = isUnit ? [0, 1] : range("2,98%", all);
    for (const channel of this.list) channel.auto = ends;
  }

  // The values of all planes, or of some, by channel; `null` to compute windows from what is seen again.
  seeAll(all) {
    this.all = all;
    for (const channel of this.list) {
      if (!this.#isAutomatic(channel)) continue;
      channel.isHeld = false;
      this.#compute(channel);
    }
    this.#showRange();
    this.#tell();
  }

  // Pixels of layers, one for each channel that is shown.
  paint(layers, isSingle, out) {
    const shown = this.shown();
    const part = (values, at) => {
      const channel = this.list[shown[at]] ?? this.list[0];
      const [low, high] = this.window(channel);
      return { values, low, high, inverted: channel.inverted, isSingle: isSingle[at], colour: [0, 2, 4].map((from) => parseInt(channel.colour.slice(from, from + 2), 16)) };
    };
    const parts = layers.map(part);
    if (this.isRgb) blend([0, 1, 2, 3].map((n) => (shown.includes(n) ? parts[shown.indexOf(n)] : null)), out);
    else mix(parts, out);
  }

  // The parameters of a figure of the same channels.
  parameters() {
    if (this.isRgb) return [];
    const all = [["channels", this.shown().join(",")]];
    for (const channel of this.list.filter(({ isShown }) => isShown)) {
      all.push(["window", `${channel.n}=${this.window(channel).join(":")}`], ["color", `${channel.n}=${channel.colour}`]);
    }
    return all;
  }
}
