// The tree of nodes: children are asked for when they are to be seen. Keys as ARIA's tree pattern has them.

import { el, id, replace, symbol } from "./dom.js";
import { json, isAborted } from "./api.js";
import { times } from "./number.js";

const keyOf = (place) => place.join("/");

export class Tree {
  // `go(place)` opens a node.
  constructor(go) {
    this.go = go;
    this.items = new Map();
    this.open = new Set();
    this.selected = "";
    this.list = el("ul", { role: "tree", "aria-label": "Groups and arrays", class: "tree", onkeydown: (event) => this.#key(event) });
    this.status = el("p", { class: "quiet", role: "status" });
    this.search = el("input", {
      type: "search", placeholder: "Find a node", "aria-label": "Find a node by its name", autocomplete: "off", spellcheck: "false",
      oninput: () => this.#find(),
      onkeydown: (event) => {
        if (event.key === "ArrowDown") this.#focus(this.#visible()[0]);
        if (event.key === "Escape" && this.search.value) {
          event.stopPropagation();
          this.search.value = "";
          this.#find();
        }
      },
    });
    this.element = el("nav", { class: "nodes", "aria-label": "Nodes" }, el("div", { class: "search" }, symbol("search"), this.search), this.status, this.list);
  }

  // The hierarchies that are served.
  start(targets) {
    this.targets = targets;
    replace(this.list, targets.map((target) => this.#item({ place: target.name.split("/"), name: target.name, kind: target.kind }, 1)));
    this.#rove();
  }

  // Opens the groups on the way to a node, and marks it.
  async show(place) {
    this.selected = keyOf(place);
    const target = this.targets.find(({ name }) => this.selected === name || this.selected.startsWith(`${name}/`));
    if (target && !this.search.value) {
      for (let length = target.name.split("/").length; length <= place.length; length++) {
        const item = this.items.get(keyOf(place.slice(0, length)));
        // A node that was closed by hand stays closed.
        if (!item || (length === place.length && item.list)) break;
        await this.#expand(item);
      }
    }
    this.#mark();
  }

  #mark() {
    for (const [key, item] of this.items) {
      if (key === this.selected) item.row.setAttribute("aria-selected", "true");
      else item.row.removeAttribute("aria-selected");
    }
    this.items.get(this.selected)?.row.scrollIntoView?.({ block: "nearest" });
    this.#rove();
  }

  #item(node, level) {
    const isGroup = node.kind !== "array" && !node.error;
    const label = el("span", { class: "label" }, node.name);
    const about = node.error ? "broken" : node.shape && times(node.shape);
    const detail = about ? el("span", { class: node.error ? "detail trouble" : "detail", title: node.error }, ` ${about}`) : null;
    const mark = el("span", { class: "twist", "aria-hidden": "true" });
    const row = el(
      "div", { role: "treeitem", id: id("node"), class: "face", "aria-level": level, tabindex: -1, "aria-expanded": isGroup ? "false" : null },
      isGroup ? mark : el("span", { class: "twist none" }), symbol(node.error ? "broken" : isGroup ? "group" : "array"), label, detail,
    );
    const holder = el("li", { role: "none" }, row);
    const item = { ...node, key: keyOf(node.place), level, row, holder, isGroup, list: null };
    row.addEventListener("click", (event) => {
      if (isGroup && (event.target === mark || this.selected === item.key)) this.#toggle(item);
      else this.#choose(item);
    });
    row.item = item;
    this.items.set(item.key, item);
    return holder;
  }

  #choose(item) {
    if (item.isGroup && item.list === null) this.#expand(item);
    this.#focus(item.row);
    this.go(item.place);
  }

  #toggle(item) {
    if (item.row.getAttribute("aria-expanded") === "true") this.#collapse(item);
    else this.#expand(item);
  }

  #collapse(item) {
    item.row.setAttribute("aria-expanded", "false");
    if (item.list) item.list.hidden = true;
    this.#rove();
  }

  async #expand(item) {
    if (!item.isGroup) return;
    item.row.setAttribute("aria-expanded", "true");
    if (item.list) {
      item.list.hidden = false;
      return;
    }
    item.list = el("ul", { role: "group" }, el("li", { class: "quiet", role: "none" }, "…"));
    item.holder.append(item.list);
    await (item.loaded ??= this.#load(item));
  }

  async #load(item) {
    try {
      const found = await json("children", { path: item.key });
      const children = found.children.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
      const rows = children.map((child) => this.#item({ ...child, place: [...item.place, child.name] }, item.level + 1));
      if (found.more) rows.push(el("li", { class: "quiet", role: "none" }, `and ${found.more} more: find them by their names`));
      if (!rows.length) rows.push(el("li", { class: "quiet", role: "none" }, found.note ?? "empty"));
      replace(item.list, rows);
    } catch (error) {
      replace(item.list, el("li", { class: "trouble", role: "none" }, error.message));
      item.loaded = null;
    }
    this.#mark();
  }

  #visible() {
    return [...this.list.querySelectorAll('[role="treeitem"]')].filter((row) => row.offsetParent !== null);
  }

  // One row is reached by Tab; arrows move between the others.
  #rove() {
    const rows = [...this.list.querySelectorAll('[role="treeitem"]')];
    for (const row of rows) row.tabIndex = -1;
    const row = this.items.get(this.selected)?.row ?? rows[0];
    if (row) row.tabIndex = 0;
  }

  #focus(row) {
    if (!row) return;
    for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  #key(event) {
    const item = event.target.item;
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = this.#visible();
    const at = rows.indexOf(item.row);
    const isOpen = item.row.getAttribute("aria-expanded") === "true";
    const actions = {
      ArrowDown: () => this.#focus(rows[at + 1]),
      ArrowUp: () => this.#focus(rows[at - 1]),
      Home: () => this.#focus(rows[0]),
      End: () => this.#focus(rows[rows.length - 1]),
      ArrowRight: () => (isOpen ? this.#focus(rows[at + 1]) : this.#expand(item)),
      ArrowLeft: () => (isOpen ? this.#collapse(item) : this.#focus(item.holder.parentElement.previousElementSibling)),
      Enter: () => this.#choose(item),
      " ": () => this.#choose(item),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  // Nodes of all hierarchies whose names have the text.
  #find() {
    clearTimeout(this.waiting);
    this.finding?.abort();
    const text = this.search.value.trim();
    if (!text) {
      this.items.clear();
      this.status.textContent = "";
      this.start(this.targets);
      this.show(this.selected ? this.selected.split("/") : []);
      return;
    }
    this.waiting = setTimeout(async () => {
      this.finding = new AbortController();
      try {
        const found = await json("find", { text }, this.finding.signal);
        this.items.clear();
        replace(this.list, found.nodes.map((node) => this.#item({ ...node, place: node.path.split("/"), name: node.path }, 1)));
        const all = found.nodes.length === 1 ? "one node" : `${found.nodes.length} nodes`;
        this.status.textContent = found.complete ? all : `${all}; not all were looked at`;
        this.#mark();
      } catch (error) {
        if (!isAborted(error)) this.status.textContent = error.message;
      }
    }, 200);
  }
}
