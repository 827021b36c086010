// The help box: what the page can do, and its keys.

import { el, button } from "./dom.js";
import { recall, remember } from "./memory.js";

const KEYS = [
  ["/", "find a node"],
  ["arrows, Enter", "in the tree: move, open, close"],
  [", and .", "previous and next along the first slider"],
  ["p", "play along the first slider, and stop"],
  ["+ and −", "zoom in and out"],
  ["0", "show all"],
  ["arrows", "in the picture: move it"],
  ["Enter", "in the picture: a line through its middle"],
  ["Shift + arrows", "in the picture: move the point"],
  ["s", "swap the axes of the picture"],
  ["r", "measure a rectangle or a line: drag in the picture, or type its ends"],
  ["o", "planes at right angles through the point"],
  ["c", "compare with another array"],
  ["f", "full screen"],
  ["t", "light or dark"],
  ["?", "this help"],
];

export function help() {
  if (document.querySelector("dialog")) return;
  // Who speaks to a computer, or rests a hand on the keys, needs to turn these off (WCAG 2.1.4).
  const single = el("input", { type: "checkbox", onchange: () => remember("keys", single.checked ? "on" : "off") });
  single.checked = recall("keys") !== "off";
  const dialog = el(
    "dialog", { "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Help"),
    el("p", {}, "Drag or touch the picture to move it; turn the wheel or pinch to zoom. A click or tap shows the values along a line through a point; choose along which axis, and click the line to go there. Missing values are hatched. Drag the ends of the range in the histogram. The address of the page has all that is seen: keep it or send it, and it opens the same view."),
    el("table", { class: "keys" }, el("caption", { class: "hidden" }, "Keys"), el("tbody", {}, KEYS.map(([key, what]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, what))))),
    el("label", { class: "check" }, single, "single keys work outside of the tree and the picture"),
    button("Close", () => dialog.close(), { class: "main" }),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}
