// A plate as a grid of its wells, each with a picture of one of its fields; and the fields of a well.

import { el, replace, select } from "./dom.js";
import { json, isAborted } from "./api.js";

// Pixels along a picture's side: of few wells, and of many.
const SIDES = [128, 64];
const MANY_COLUMNS = 12;
// The largest plates have 48 rows of 72 columns.
const MAX_PLACES = 1e4;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const join = (...parts) => parts.join("/");

// The fields of a well that are of an acquisition; all if that is `null`.
export const fieldsOf = ({ fields }, acquisition) => fields.filter((field) => acquisition === null || field.acquisition === acquisition);

// Where a step from a well ends: the next one in this direction that can be opened. `places` are `[row, column]`.
export function next(places, [row, column], [down, across]) {
  const ahead = places.filter(([r, c]) => (across ? r === row && (c - column) * across > 0 : c === column && (r - row) * down > 0));
  const distance = ([r, c]) => Math.abs(r - row) + Math.abs(c - column);
  return ahead.sort((a, b) => distance(a) - distance(b))[0];
}

const thumbnail = (path, size, windows) => {
  const query = new URLSearchParams({ path, size });
  if (windows) query.set("windows", windows);
  // What cannot be drawn can be opened all the same.
  return el("img", { src: `/-/thumbnail.png?${query}`, alt: "", loading: "lazy", width: size, height: size, onerror: (event) => event.target.remove() });
};

// Opens the data of a field: its largest level, else its group.
async function open(path, state, note) {
  try {
    const { image } = await json("node", { path });
    state.go((image ?? path).split("/"));
  } catch (error) {
    note.textContent = error.message;
  }
}

export function plate(node, state) {
  const note = el("p", { class: "quiet", role: "status" }, "Reading the wells …");
  const tools = el("div", { class: "row" });
  const grid = el("div", { class: "scroll wells", role: "region", "aria-label": "Wells", tabindex: -1 });
  json("plate", { path: node.path }).then((found) => new Grid(node, state, found, { note, tools, grid }), (error) => isAborted(error) || (note.textContent = error.message));
  return el("div", { class: "panes" }, tools, note, grid);
}

class Grid {
  constructor(node, state, about, holders) {
    Object.assign(this, { node, state, about, ...holders });
    const { wells, acquisitions } = about;
    const ids = [...new Set([...acquisitions.map(({ id }) => id), ...wells.flatMap(({ fields }) => fields.map(({ acquisition }) => acquisition))])].filter((id) => id !== null);
    const { field = 0, acquisition } = state.now;
    this.acquisition = ids.includes(acquisition) ? acquisition : null;
    this.field = field;
    const title = (id) => acquisitions.find((known) => known.id === id)?.name ?? `acquisition ${id}`;
    this.choices = [["", "all acquisitions"], ...ids.map((id) => [id, title(id)])];
    if (about.rows.length * about.columns.length > MAX_PLACES) {
      this.note.textContent = "The plate has too many rows and columns to be shown: open its wells in the tree.";
      return;
    }
    this.wells = new Map(wells.map((well) => [`${well.row},${well.column}`, well]));
    this.draw();
  }

  draw() {
    const { about: { rows, columns, wells, windows, name }, choices, state } = this;
    const count = wells.reduce((most, well) => Math.max(most, fieldsOf(well, this.acquisition).length), 0);
    this.field = Math.min(this.field, Math.max(0, count - 1));
    const choose = (change) => {
      Object.assign(this, change);
      state.set({ field: this.field || null, acquisition: this.acquisition });
      this.draw();
    };
    const focused = this.tools.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    replace(
      this.tools,
      count > 1 && select("Field", Array.from({ length: count }, (_, n) => [n, `field ${n + 1} of ${count}`]), this.field, (value) => choose({ field: Number(value) })),
      choices.length > 2 && select("Acquisition", choices, this.acquisition ?? "", (value) => choose({ acquisition: value === "" ? null : Number(value) })),
    );
    if (focused) this.tools.querySelector(`[aria-label="${focused}"]`)?.focus();
    const size = SIDES[columns.length > MANY_COLUMNS ? 1 : 0];
    const shown = [];
    const cell = (row, column) => {
      const well = this.wells.get(`${row},${column}`);
      const field = well && fieldsOf(well, this.acquisition)[this.field];
      if (!field) return el("td", { class: "absent" });
      shown.push([row, column]);
      const path = join(this.node.path, well.path, field.path);
      return el("td", {}, el("button", {
        type: "button", tabindex: shown.length === 1 ? 0 : -1, "data-well": `${row},${column}`, "aria-label": `${rows[row]}${columns[column]}, field ${field.path}`, title: `${rows[row]}${columns[column]}`,
        onclick: () => open(path, state, this.note), onkeydown: (event) => this.key(event, [row, column]),
      }, thumbnail(path, size, windows)));
    };
    const table = el(
      "table", { role: "grid", "aria-label": `${name ?? this.node.name}: ${rows.length} rows, ${columns.length} columns` },
      el("thead", {}, el("tr", {}, el("td"), columns.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map((name, row) => el("tr", {}, el("th", { scope: "row" }, name), columns.map((_, column) => cell(row, column))))),
    );
    table.style.maxWidth = `${(columns.length + 1) * SIDES[0]}px`;
    this.shown = shown;
    replace(this.grid, table);
    this.note.textContent = shown.length ? `${shown.length} of ${rows.length * columns.length} wells have this field; a click opens it.` : "No well has a field.";
  }

  key(event, place) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const to = next(this.shown, place, step);
    if (!to) return;
    // Only one well is reached by Tab.
    event.currentTarget.tabIndex = -1;
    const button = this.grid.querySelector(`[data-well="${to.join(",")}"]`);
    button.tabIndex = 0;
    button.focus();
  }
}

// The fields of a well, by their acquisitions.
export function fields(node, state) {
  const note = el("p", { class: "quiet", role: "status" });
  const ids = [...new Set(node.fields.map(({ acquisition }) => acquisition))];
  const card = ({ path }) => el("li", {}, el("button", { type: "button", class: "card field", onclick: () => open(join(node.path, path), state, note) }, thumbnail(join(node.path, path), SIDES[0]), el("span", { class: "label" }, path)));
  const parts = ids.map((id) => [
    ids.length > 1 && el("h2", {}, id === null ? "Of no acquisition" : `Acquisition ${id}`),
    el("ul", { class: "cards" }, node.fields.filter(({ acquisition }) => acquisition === id).map(card)),
  ]);
  return el("div", { class: "panes" }, note, node.fields.length ? parts : el("p", { class: "quiet" }, "This well has no fields."));
}
