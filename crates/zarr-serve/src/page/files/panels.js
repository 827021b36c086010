// What a node has besides its data: facts, attributes, documents, values.

import { el, replace, button } from "./dom.js";
import { json, v3Document } from "./api.js";
import { count, size, times } from "./number.js";

// The facts of a node, as terms and their texts.
export function facts(node) {
  const { array } = node;
  const terms = [];
  const add = (term, text) => text && terms.push(el("div", {}, el("dt", {}, term), el("dd", {}, text)));
  if (array) {
    add("shape", times(array.shape));
    add("axes", array.axes.map(({ name }) => name).join(", "));
    add("type", array.type);
    add("units", array.units);
    if (array.shard_shape) add("shards", times(array.shard_shape));
    add("chunks", array.chunk_shape && times(array.chunk_shape));
    add("codecs", array.codecs.map(({ name }) => name).join(" → "));
    add("fill value", array.fill_value === null ? null : typeof array.fill_value === "string" ? array.fill_value : JSON.stringify(array.fill_value));
    if (array.item_size) add("size", size(array.shape.reduce((a, b) => a * b, 1) * array.item_size));
    if (array.levels?.length > 1) add("levels", array.levels.map(({ shape }) => times(shape.slice(-2))).join(", "));
  }
  for (const [term, count] of Object.entries(node.plate ?? {})) add(term, count === null ? null : String(count));
  add("format", node.format);
  return el("dl", { class: "facts" }, terms);
}

// A value of JSON as a tree of text, long parts closed.
export function tree(value, depth = 0) {
  if (value === null || typeof value !== "object") return el("code", { class: `json ${value === null ? "null" : typeof value}` }, typeof value === "string" ? value : JSON.stringify(value));
  const entries = Object.entries(value);
  const isPlain = Array.isArray(value) && value.every((item) => item === null || typeof item !== "object");
  if (isPlain && JSON.stringify(value).length < 100) return el("code", { class: "json" }, JSON.stringify(value).replaceAll(",", ", "));
  if (!entries.length) return el("code", { class: "json" }, Array.isArray(value) ? "[]" : "{}");
  const noun = `${entries.length} ${Array.isArray(value) ? "item" : "member"}${entries.length === 1 ? "" : "s"}`;
  return el("details", { class: "branch", open: depth < 1 && entries.length <= 24 }, el("summary", {}, noun), rows(entries.slice(0, 500), depth + 1));
}

const rows = (entries, depth) => el("dl", { class: "members" }, entries.map(([key, value]) => el("div", {}, el("dt", {}, key), el("dd", {}, tree(value, depth)))));

export function attributes(node) {
  const entries = Object.entries(node.attributes);
  if (!entries.length) return el("p", { class: "quiet" }, "No attributes.");
  return rows(entries, 0);
}

// A text with a button that copies it.
export function copyable(text, label) {
  const note = el("span", { class: "quiet", role: "status" });
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text);
      note.textContent = "copied";
    } catch {
      note.textContent = "select it and copy it by hand";
    }
  }, { "aria-label": `Copy ${label}` });
  return el("div", { class: "copyable" }, el("pre", { tabindex: 0, "aria-label": label }, el("code", {}, text)), el("div", { class: "copy" }, note, copy));
}

// A document on indented lines, short lists on one.
export function indented(document) {
  return JSON.stringify(document, null, 2).replace(/\[\s+([^[\]{}"]{0,90}?)\s+\]/g, (_, inner) => `[${inner.replace(/\s+/g, " ")}]`);
}

export function metadata(node) {
  const parts = [el("h2", {}, "Attributes"), attributes(node)];
  for (const [key, document] of Object.entries(node.documents ?? {})) {
    parts.push(el("h2", {}, "As stored: ", el("code", {}, key)), copyable(indented(document), key));
  }
  if (node.dialect !== "v3") parts.push(asV3(node));
  return el("div", { class: "panes" }, parts);
}

// The document that the server's view as v3 has.
function asV3(node) {
  const show = button("Show it as v3", async () => {
    try {
      show.replaceWith(copyable(indented(await v3Document(node.path)), "The document as v3"));
    } catch (error) {
      show.replaceWith(el("p", {}, error.message));
    }
  });
  return el("div", {}, el("h2", {}, "As v3"), show);
}

const ROWS = 40;
const COLUMNS = 12;

// The elements themselves, of any type, a page at a time.
export function values(node, state) {
  const { array } = node;
  const rank = array.shape.length;
  const none = array.axes.find((axis) => axis.size === 0);
  if (none) return el("div", { class: "panes" }, el("p", { class: "quiet" }, `The array has no elements: ${none.name} has length 0.`));
  const [down, across] = rank > 1 ? [rank - 2, rank - 1] : [0, null];
  const at = array.shape.map((length, n) => Math.max(0, Math.min(length - 1, Math.floor(state.now.at?.[n] ?? 0))));
  let [top, left] = [0, 0];
  const table = el("table", { class: array.item_size === null ? "elements texts" : "elements" });
  const note = el("p", { class: "quiet", role: "status" });
  const load = async () => {
    try {
      const found = await json("table", { path: node.path, at: at.join(","), down: rank ? `${top}:${Math.min(array.shape[down], top + ROWS)}` : null, across: across === null ? null : `${left}:${Math.min(array.shape[across], left + COLUMNS)}` });
      const head = across === null ? null : el("thead", {}, el("tr", {}, el("th", { class: "corner" }, `${array.axes[down].name} \\ ${array.axes[across].name}`), found.texts[0]?.map((_, n) => el("th", { scope: "col" }, String(left + n)))));
      replace(table, el("caption", { class: "hidden" }, `Elements of ${node.name}`), head, el("tbody", {}, found.texts.map((row, n) => el("tr", {}, rank ? el("th", { scope: "row" }, String(top + n)) : null, row.map((text) => el("td", {}, text === null ? "missing" : text))))));
      const part = (axis, from, length) => `${array.axes[axis].name}: ${count(from)} to ${count(from + length - 1)} of ${count(array.shape[axis])}`;
      note.textContent = rank ? [part(down, top, found.texts.length), across !== null && part(across, left, found.texts[0]?.length ?? 0)].filter(Boolean).join("; ") : "";
    } catch (error) {
      note.textContent = error.message;
    }
  };
  const pager = (label, icon, isEnd, step) => button(label, () => {
    if (isEnd()) return;
    step();
    load();
  }, { icon });
  const named = (axis) => el("span", { class: "quiet" }, array.axes[axis].name);
  // What is seen whole needs no pages.
  const [hasRows, hasColumns] = [array.shape[down] > ROWS, across !== null && array.shape[across] > COLUMNS];
  const tools = rank === 0 ? null : el(
    "div", { class: "row" },
    hasRows && [named(down), pager("Rows before", "left", () => top === 0, () => (top = Math.max(0, top - ROWS))),
    pager("Rows after", "right", () => top + ROWS >= array.shape[down], () => (top += ROWS))],
    hasColumns && [named(across), pager("Columns before", "left", () => left === 0, () => (left = Math.max(0, left - COLUMNS))), pager("Columns after", "right", () => left + COLUMNS >= array.shape[across], () => (left += COLUMNS))],
    array.axes.slice(0, -2).map((axis, n) => axis.size > 1 && el("label", { class: "pick" }, axis.name, el("input", {
      type: "number", min: 0, max: axis.size - 1, value: at[n],
      onchange: (event) => {
        at[n] = Math.max(0, Math.min(axis.size - 1, Math.floor(event.target.valueAsNumber || 0)));
        load();
      },
    }))),
  );
  load();
  return el("div", { class: "panes" }, tools, note, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Elements" }, table));
}

