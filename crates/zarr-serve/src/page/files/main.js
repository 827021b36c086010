// The page: the tree at the side, the node that the URL names beside it.

import { el, replace, button, symbol } from "./dom.js";
import { json, isAborted } from "./api.js";
import { State } from "./state.js";
import { Tree } from "./tree.js";
import { DataView } from "./data.js";
import { table } from "./colour.js";
import { facts, metadata, values, attributes } from "./panels.js";
import { statistics } from "./statistics.js";
import { chunks } from "./chunks.js";
import { fields, plate } from "./plate.js";
import { snippets } from "./snippets.js";
import { help } from "./help.js";
import { recall, remember } from "./memory.js";
import { times } from "./number.js";

const state = new State();
const place = (name) => document.getElementById(name);
let view = null;
let asked = null;
let maps = null;
let targets = [];

const tree = new Tree((where) => {
  document.body.classList.remove("drawer");
  if (where.join("/") !== state.now.place.join("/")) state.go(where);
});

// -- Light and dark.

function theme() {
  const chosen = recall("theme");
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  view?.draw?.();
}

function switchTheme() {
  const isDark = document.documentElement.dataset.theme === "dark";
  remember("theme", isDark ? "light" : "dark");
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  view?.draw?.();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);

// -- The bar at the top.

function bar() {
  const note = el("span", { class: "quiet", role: "status" });
  const link = button("Copy a link to what is seen", async () => {
    const url = state.link();
    try {
      await navigator.clipboard.writeText(url);
      note.textContent = "link copied";
    } catch {
      note.textContent = "the link is the address of this page";
    }
    setTimeout(() => (note.textContent = ""), 2500);
  }, { icon: "link" });
  replace(
    place("bar"),
    button("Nodes", () => document.body.classList.toggle("drawer"), { icon: "menu", class: "icon menu" }),
    el("span", { class: "brand" }, symbol("array"), "zarr"),
    el("nav", { class: "way", "aria-label": "Where this is" }, el("ol", { id: "way" })),
    note, link,
    button("Light or dark", switchTheme, { icon: "theme", title: "Light or dark (t)" }),
    button("Help", () => help(), { icon: "help", title: "Help (?)" }),
  );
}

function way(where) {
  const items = where.map((name, n) => {
    const isLast = n === where.length - 1;
    return el("li", {}, isLast ? el("span", { "aria-current": "page" }, name) : button(name, () => state.go(where.slice(0, n + 1))));
  });
  replace(place("way"), el("li", {}, button("all", () => state.go([]))), items);
  // Where there is little space, the end is seen: where this is.
  const nav = place("way").parentElement;
  nav.scrollLeft = nav.scrollWidth;
}

// -- A node.

const TABS = {
  plate: ["Plate", (node) => plate(node, state)],
  fields: ["Fields", (node) => fields(node, state)],
  data: ["Data", (node) => dataPart(node)],
  values: ["Values", (node) => values(node, state)],
  statistics: ["Statistics", (node) => statistics(node)],
  chunks: ["Chunks", (node) => chunks(node)],
  contents: ["Contents", (node) => contents(node)],
  metadata: ["Metadata", (node) => metadata(node)],
  open: ["Open in", (node) => snippets(node)],
};

function dataPart(node) {
  view = new DataView(node, state, maps);
  queueMicrotask(() => view?.start());
  return view.element;
}

const tabsOf = (node) => {
  if (!node.array) return [...(node.plate ? ["plate"] : []), ...(node.fields ? ["fields"] : []), "contents", "metadata", "open"];
  const { array } = node;
  const parts = array.unreadable ? [] : array.view.kind === "none" ? ["values", "statistics"] : ["data", "values", "statistics"];
  return [...parts, ...(array.chunk_shape ? ["chunks"] : []), "metadata", "open"];
};

async function show() {
  const where = state.now.place;
  asked?.abort();
  asked = new AbortController();
  view?.end();
  view = null;
  way(where);
  if (!where.length) return overview();
  document.title = `${where[where.length - 1]} – zarr`;
  const main = place("node");
  main.setAttribute("aria-busy", "true");
  try {
    const node = await json("node", { path: where.join("/") }, asked.signal);
    node.name = where[where.length - 1];
    main.removeAttribute("aria-busy");
    await draw(node);
  } catch (error) {
    if (isAborted(error)) return;
    main.removeAttribute("aria-busy");
    replace(main, el("h1", {}, where[where.length - 1]), el("p", { class: "trouble", role: "alert" }, error.message), button("Try again", show));
  }
  tree.show(where);
}

async function draw(node) {
  const main = place("node");
  const tabs = tabsOf(node);
  const panel = el("div", { role: "tabpanel", id: "panel", tabindex: -1 });
  const list = el("div", { role: "tablist", "aria-label": "Parts of the node" });
  const open = (name, focus) => {
    view?.end();
    view = null;
    for (const tab of list.children) {
      const isChosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      if (isChosen && focus) tab.focus();
      // On a phone the last ones are beside the screen.
      if (isChosen) requestAnimationFrame(() => tab.scrollIntoView({ block: "nearest", inline: "nearest" }));
    }
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    replace(panel, TABS[name][1](node));
  };
  const choose = (name, focus) => {
    state.set({ tab: name === tabs[0] ? null : name });
    open(name, focus);
  };
  for (const name of tabs) {
    list.append(el("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", "data-tab": name,
      onclick: () => choose(name, false),
      onkeydown: (event) => {
        const at = tabs.indexOf(name) + { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (Number.isNaN(at)) return;
        event.preventDefault();
        choose(tabs[(at + tabs.length) % tabs.length], true);
      },
    }, TABS[name][0]));
  }
  const { array } = node;
  const about = node.title && node.title !== node.name ? el("p", { class: "about" }, node.title) : null;
  const notes = [...(array?.unreadable ? [`The elements cannot be read: ${array.unreadable}`] : []), ...(node.notes ?? [])];
  replace(
    main,
    el("header", {}, el("h1", {}, node.name), el("span", { class: "kind" }, node.kind), about),
    facts(node),
    notes.length ? el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note))) : null,
    list, panel,
  );
  maps ??= await colourMaps();
  const wanted = state.now.tab;
  open(tabs.includes(wanted) ? wanted : tabs[0], false);
}

async function colourMaps() {
  const found = await json("colormaps");
  return Object.fromEntries(Object.entries(found.maps).map(([name, hex]) => [name, table(hex)]));
}

// What a group has.
function contents(node) {
  const children = node.children.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const cards = children.map((child) => el("li", {}, button("", () => state.go([...node.path.split("/"), child.name]), { class: "card" })));
  cards.forEach((card, n) => {
    const child = children[n];
    replace(
      card.firstChild, symbol(child.error ? "broken" : child.kind === "array" ? "array" : "group"), el("span", { class: "label" }, child.name),
      child.error && el("span", { class: "title trouble" }, child.error),
      child.title && el("span", { class: "title" }, child.title),
      child.shape && el("span", { class: "detail" }, `${times(child.shape)} ${child.type ?? ""}`),
    );
  });
  const image = node.image && button("Open the image", () => state.go(node.image.split("/")), { class: "main" });
  return el(
    "div", { class: "panes" }, image,
    cards.length ? el("ul", { class: "cards" }, cards) : el("p", { class: "quiet" }, node.children_note ?? "This group has no children."),
    node.more ? el("p", { class: "quiet" }, `And ${node.more} more: find them by their names.`) : null,
    Object.keys(node.attributes).length ? [el("h2", {}, "Attributes"), attributes(node)] : null,
  );
}

// What is served.
function overview() {
  document.title = "zarr";
  const cards = targets.map((target) => el("li", {}, (() => {
    const card = button("", () => state.go(target.name.split("/")), { class: "card" });
    card.append(symbol(target.kind === "array" ? "array" : "group"), el("span", { class: "label" }, target.name), el("span", { class: "detail" }, target.format));
    return card;
  })()));
  replace(
    place("node"),
    el("header", {}, el("h1", {}, "Data served here")),
    cards.length ? el("ul", { class: "cards" }, cards) : el("p", {}, "There is no hierarchy in the folders that are served."),
    el("p", { class: "quiet" }, "Press ? for keys and for what this page can do."),
  );
}

// -- Keys that need no focus.

document.addEventListener("keydown", (event) => {
  const isTyped = event.target.closest?.("input:not([type=range]):not([type=checkbox]), select, textarea, dialog");
  if (isTyped || recall("keys") === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = { "?": () => help(), "/": () => tree.search.focus(), t: switchTheme };
  if (actions[event.key]) actions[event.key]();
  else if (!view?.key(event.key)) return;
  event.preventDefault();
});

async function start() {
  theme();
  bar();
  place("side").append(tree.element);
  place("shade").addEventListener("click", () => document.body.classList.remove("drawer"));
  document.addEventListener("keydown", (event) => event.key === "Escape" && document.body.classList.remove("drawer"));
  try {
    const found = await json("targets");
    targets = found.targets;
    tree.start(targets);
    if (!state.now.place.length && targets.length === 1) state.now.place = targets[0].name.split("/");
  } catch (error) {
    replace(place("node"), el("h1", {}, "zarr"), el("p", { class: "trouble", role: "alert" }, error.message));
    return;
  }
  state.onChange(show);
  await show();
}

start();
