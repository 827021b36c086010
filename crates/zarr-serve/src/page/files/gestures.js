// Mouse, touch and wheel on a canvas: pan, zoom, click, hover, in its pixels.

// A press that moves less than this is a click.
const STILL = 5;

export class Gestures {
  constructor(canvas, calls) {
    this.canvas = canvas;
    this.calls = calls;
    this.pointers = new Map();
    const on = (name, handler) => canvas.addEventListener(name, handler, { passive: false });
    on("pointerdown", (event) => this.#down(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#up(event));
    on("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on("pointerleave", () => calls.hover(null));
    on("wheel", (event) => this.#wheel(event));
    on("dblclick", (event) => calls.zoom(2, ...this.#at(event)));
  }

  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture?.(event.pointerId);
    const [x, y] = this.#at(event);
    this.pointers.set(event.pointerId, { x, y });
    this.moved = this.pointers.size > 1 ? Infinity : 0;
    // Two fingers move the picture in any case.
    this.began = this.calls.isDrawing() && this.pointers.size === 1 ? [x, y] : null;
  }

  #move(event) {
    const [x, y] = this.#at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.calls.hover(x, y);
      return;
    }
    const others = [...this.pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.moved += Math.hypot(x - before.x, y - before.y);
    if (others.length) {
      const [other] = others;
      const middle = { x: (x + other.x) / 2, y: (y + other.y) / 2 };
      const was = { x: (before.x + other.x) / 2, y: (before.y + other.y) / 2 };
      const factor = Math.hypot(x - other.x, y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      this.calls.pan(middle.x - was.x, middle.y - was.y);
      this.calls.zoom(factor, middle.x, middle.y);
    } else if (this.began && this.moved > STILL) {
      this.calls.draw(...this.began, x, y, false);
    } else if (this.moved > STILL) {
      this.canvas.classList.add("held");
      this.calls.pan(x - before.x, y - before.y);
    } else {
      return;
    }
    this.pointers.set(event.pointerId, { x, y });
  }

  #up(event) {
    const was = this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("held");
    if (was && this.began && this.moved > STILL) this.calls.draw(...this.began, ...this.#at(event), true);
    if (was && this.moved <= STILL && !this.pointers.size) this.calls.click(...this.#at(event));
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    this.calls.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY * lines)) / (event.ctrlKey ? 100 : 300)), ...this.#at(event));
  }
}
