// The state of the page, all of it in the URL's fragment: `#/NAME/PATH?tab=data&x=2&y=1&at=5,0,0&map=viridis…`.
// docs/serving.md describes it.

const NUMBERS = ["x", "y", "line", "depth", "field", "acquisition"];
const LISTS = ["at", "range", "held", "view", "point"];

const numbers = (text) => text.split(",").map((part) => (part === "" ? NaN : Number(part)));

// The state that a fragment has: `{name, path, tab, x, y, line, at, view, point, map, range, …}`. What it does not say is absent.
export function parse(fragment) {
  const text = fragment.replace(/^#/, "");
  const [where, query = ""] = [text.split("?", 1)[0], text.includes("?") ? text.slice(text.indexOf("?") + 1) : ""];
  const state = { place: where.split("/").filter(Boolean).map(decode) };
  for (const [key, value] of new URLSearchParams(query)) {
    if (key === "place") continue;
    if (NUMBERS.includes(key)) {
      if (/^\d+$/.test(value)) state[key] = Number(value);
    } else if (LISTS.includes(key)) {
      if (key === "range" && value.endsWith("%")) state.range = value;
      else if (value === "full") state.range = value;
      else if (numbers(value).every(Number.isFinite)) state[key] = numbers(value);
    } else if (/^[a-z]+$/.test(key)) {
      state[key] = value;
    }
  }
  return state;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The fragment of a state, which `parse` reads back.
export function format(state) {
  const { place, ...rest } = state;
  const parts = Object.entries(rest)
    .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "")
    .map(([key, value]) => {
      const text = Array.isArray(value) ? value.map(short).join(",") : value === true ? "1" : String(value);
      return `${key}=${encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%20", "+")}`;
    });
  return `#/${place.map(encodeURIComponent).join("/")}${parts.length ? `?${parts.join("&")}` : ""}`;
}

// A number as short as it can be without a change.
const short = (number) => String(number);

// The state, and who is told of its changes.
export class State {
  #told = [];
  #timer = null;
  #pending = null;

  constructor() {
    this.now = parse(location.hash);
    window.addEventListener("hashchange", () => {
      if (format(parse(location.hash)) === format(this.now)) return;
      this.now = parse(location.hash);
      this.#tell("link");
    });
  }

  onChange(listener) {
    this.#told.push(listener);
  }

  #tell(why) {
    for (const listener of this.#told) listener(why);
  }

  // Another node: what belongs to the last one is forgotten. It can be gone back to.
  go(place, rest = {}) {
    this.#flush();
    this.now = { place, ...rest };
    history.pushState(null, "", format(this.now));
    this.#tell("node");
  }

  // Changes of the view. Browsers allow only a few changes of a URL each second.
  set(changes) {
    Object.assign(this.now, changes);
    this.#pending = true;
    this.#timer ??= setTimeout(() => this.#flush(), 250);
  }

  #flush() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#pending) history.replaceState(null, "", format(this.now));
    this.#pending = null;
  }

  // The URL of what is seen now.
  link() {
    this.#flush();
    return new URL(format(this.now), location.href).href;
  }
}
