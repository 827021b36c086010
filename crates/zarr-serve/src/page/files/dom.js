// Makes elements. Text becomes text nodes only: nothing that a dataset has is ever parsed as HTML.

// An element with attributes, handlers (`onclick`) and children: elements, texts, or lists of them; `null` is left out.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

const flat = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

// Puts children in the place of those that an element has.
export function replace(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

let last = 0;
// An id that no other element has.
export const id = (name) => `${name}-${++last}`;

// A button; `icon` is the name of a symbol below.
export function button(label, onclick, { icon, title, ...attributes } = {}) {
  const content = icon ? [symbol(icon)] : [label];
  const named = icon ? { "aria-label": label, title: title ?? label } : { title };
  return el("button", { type: "button", class: icon ? "icon" : null, ...named, onclick, ...attributes }, ...content);
}

const SYMBOLS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  swap: "M7 4v14M3.500 14.500L7 18l3.500-3.500M17 20V6M13.500 9.500L17 6l3.500 3.500",
  help: "M9 9.200a3 3 0 1 1 4.200 2.700c-.8.4-1.200 1-1.200 1.900v.4M12 17.600v.1",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 18.700l1-1",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M6 6l12 12M18 6L6 18",
  array: "M4 4h16v16H4zM4 9.300h16M4 14.700h16M9.300 4v16M14.700 4v16",
  group: "M3 6.500A1.500 1.500 0 0 1 4.500 5H9l2 2.500h8.500A1.500 1.500 0 0 1 21 9v8.500a1.500 1.500 0 0 1-1.500 1.500h-15A1.500 1.500 0 0 1 3 17.500z",
  broken: "M12 4L21 19.500H3zM12 10v4.500M12 16.800v.1",
  flip: "M12 3v18M8 7L4 12l4 5M16 7l4 5-4 5",
  download: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  window: "M4 8h9M17 8h3M15 6v4M4 16h3M11 16h9M9 14v4",
  full: "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7",
  region: "M3 15L15 3l6 6L9 21zM7 11l2 2M10 8l3 3M13 5l2 2",
  planes: "M4 4h10v10H4zM17 4h4v10h-4zM4 17h10v4H4z",
  compare: "M4 5h7v14H4zM13 5h7v14h-7z",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500L20 20",
};

// A drawing of 24 × 24 units, which readers of the screen skip.
export function symbol(name) {
  const isFilled = name === "play" || name === "pause";
  const path = svg("path", { d: SYMBOLS[name] });
  return svg("svg", { viewBox: "0 0 24 24", class: isFilled ? "symbol filled" : "symbol", "aria-hidden": "true", focusable: "false" }, path);
}

// A choice among `[value, text]`.
export function select(label, options, value, onchange) {
  const element = el("select", { "aria-label": label, onchange: () => onchange(element.value) });
  element.append(...options.map(([value, text]) => el("option", { value }, text)));
  element.value = String(value);
  return element;
}
