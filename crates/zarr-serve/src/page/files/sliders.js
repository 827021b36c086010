// A slider for each axis that is not in the picture: its index, its coordinate, steps, and play.

import { el, button, id, replace, select } from "./dom.js";
import { recall, remember } from "./memory.js";
import { count } from "./number.js";

// How many positions are shown in a second while an axis is played, if they come as fast.
const RATES = ["1", "3", "6", "12", "24"];

export class Sliders {
  // `onMove(axis number, index)` is told of each change; `ready()` says whether the last one is drawn.
  constructor({ onMove, ready }) {
    Object.assign(this, { onMove, ready });
    this.element = el("div", { class: "sliders", role: "group", "aria-label": "Position along the other axes" });
    this.rows = [];
    const rate = recall("rate");
    this.rate = RATES.includes(rate) ? rate : "6";
  }

  show(axes, at) {
    this.stop();
    this.rows = axes.map((axis) => this.#row(axis, at[axis.number]));
    const rates = RATES.map((rate) => [rate, `${rate} / s`]);
    // One for all rows, in the first: it takes no line of its own.
    this.rows[0]?.element.append(select("Positions per second while playing", rates, this.rate, (rate) => this.#playAt(rate)));
    replace(this.element, this.rows.map((row) => row.element));
    this.element.hidden = !axes.length;
  }

  #row(axis, index) {
    const name = id("slider");
    const row = { axis, index };
    row.input = el("input", { type: "range", id: name, min: 0, max: axis.size - 1, step: 1, value: index, oninput: () => this.#move(row, row.input.valueAsNumber) });
    row.number = el("input", {
      type: "number", class: "index", min: 0, max: axis.size - 1, value: index, "aria-label": `Index of ${axis.name}`,
      onchange: () => Number.isFinite(row.number.valueAsNumber) && this.#move(row, row.number.valueAsNumber),
    });
    row.label = el("output", { class: "coordinate", for: name });
    row.play = button(`Play along ${axis.name}`, () => this.toggle(row), { icon: "play", "aria-pressed": "false" });
    row.element = el(
      "div", { class: "slider" },
      el("label", { for: name }, axis.name),
      row.play,
      button(`Previous of ${axis.name}`, () => this.step(row, -1), { icon: "left" }),
      row.input,
      button(`Next of ${axis.name}`, () => this.step(row, 1), { icon: "right" }),
      row.number,
      el("span", { class: "of" }, `of ${count(axis.size)}`),
      row.label,
    );
    this.#label(row);
    return row;
  }

  #label(row) {
    const text = row.axis.full(row.index);
    row.label.textContent = text ?? "";
    row.input.setAttribute("aria-valuetext", text ? `${text}, index ${row.index}` : `index ${row.index}`);
  }

  // Coordinates have come.
  refresh() {
    for (const row of this.rows) this.#label(row);
  }

  #move(row, index) {
    row.index = Math.max(0, Math.min(row.axis.size - 1, Math.round(index)));
    row.input.value = row.index;
    row.number.value = row.index;
    this.#label(row);
    this.onMove(row.axis.number, row.index);
  }

  set(number, index) {
    const row = this.rows.find(({ axis }) => axis.number === number);
    if (row) this.#move(row, index);
  }

  // One further, around the end.
  step(row, by) {
    row ??= this.rows[0];
    if (row) this.#move(row, (row.index + by + row.axis.size) % row.axis.size);
  }

  toggle(row) {
    row ??= this.rows[0];
    if (!row) return;
    const isPlaying = this.playing === row;
    this.stop();
    if (isPlaying) return;
    this.playing = row;
    row.play.setAttribute("aria-pressed", "true");
    row.play.querySelector("path").setAttribute("d", "M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z");
    this.#tick();
  }

  #tick() {
    this.timer = setInterval(() => this.ready() && this.step(this.playing, 1), 1000 / Number(this.rate));
  }

  #playAt(rate) {
    this.rate = rate;
    remember("rate", rate);
    if (!this.playing) return;
    clearInterval(this.timer);
    this.#tick();
  }

  stop() {
    clearInterval(this.timer);
    if (!this.playing) return;
    this.playing.play.setAttribute("aria-pressed", "false");
    this.playing.play.querySelector("path").setAttribute("d", "M7 4.5v15l12-7.5z");
    this.playing = null;
  }
}
