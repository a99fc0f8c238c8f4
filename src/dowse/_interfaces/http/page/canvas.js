// Draws the graph and takes the pointer: drag moves, wheel and pinch zoom, a click chooses.

import { still } from "./dom.js";
import { Layout } from "./forces.js";
import { paint } from "./painting.js";

const STEPS = 260;
const AHEAD = 500; // milliseconds
const MANY = 1000; // nodes from which drawing takes so long that more steps go between two pictures

/** A picture of a graph on a canvas. */
export class Picture {
  constructor(canvas, { choose, colour, covered = 0 }) {
    Object.assign(this, { canvas, choose, colour, covered, nodes: [], links: [], view: { x: 0, y: 0, zoom: 1 }, heat: 0 });
    this.pointers = new Map();
    this.wanted = null; // ids that stand out; null: all do
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.#up(event));
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  /** Takes a graph, lets it settle, and shows it whole. */
  take(nodes, links) {
    Object.assign(this, { nodes, links });
    this.layout = new Layout(nodes, links);
    this.step = 0;
    this.ranked = [...nodes].sort((a, b) => b.degree - a.degree); // whose name is shown first
    // As far as half a second leads, so that nobody has to watch a small graph settle.
    this.#advance(AHEAD);
    this.whole();
    this.#run();
  }

  /** As many steps as go into some milliseconds, at least one. */
  #advance(milliseconds) {
    const end = performance.now() + milliseconds;
    do {
      this.layout.tick(1 - this.step / STEPS);
      this.step += 1;
    } while (this.step < STEPS && performance.now() < end);
    this.layout.give();
  }

  #run() {
    if (this.running) return;
    this.running = true;
    const frame = () => {
      if (this.step < STEPS && this.canvas.isConnected) {
        this.#advance(this.nodes.length > MANY ? 30 : 12);
        // Those who want no motion see the rest when it is done.
        const seen = !still() || this.step === STEPS;
        if (seen && !this.touched) this.whole();
        else if (seen) this.draw();
        requestAnimationFrame(frame);
      } else this.running = false;
    };
    frame();
    this.draw();
  }

  /** Shows everything. */
  whole() {
    if (!this.nodes.length) return;
    let [left, right, top, low] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of this.nodes) {
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, low] = [Math.min(top, y), Math.max(low, y)];
    }
    const { width, height } = this.canvas.getBoundingClientRect();
    const zoom = Math.max(Math.min((width - this.covered) / (right - left + 160), height / (low - top + 110), 1.7), 0.02);
    this.view = { zoom, x: (left + right) / 2 - this.covered / 2 / zoom, y: (top + low) / 2 };
    this.draw();
  }

  /** Shows one document in the middle. */
  centre(id) {
    const node = this.nodes.find((one) => one.id === id);
    if (!node) return;
    this.touched = true;
    this.view = { x: node.x, y: node.y, zoom: Math.max(this.view.zoom, 1.2) };
    this.draw();
  }

  /** Zooms by a factor, around a point of the canvas or its middle. */
  zoom(factor, at = null) {
    this.touched = true;
    const before = at && this.#world(at);
    this.view.zoom = Math.min(Math.max(this.view.zoom * factor, 0.02), 8);
    if (before) {
      const after = this.#world(at);
      this.view.x += before.x - after.x;
      this.view.y += before.y - after.y;
    }
    this.draw();
  }

  /** Lets some documents stand out; null: all. */
  highlight(ids) {
    this.wanted = ids;
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    const { width, height } = this.canvas.getBoundingClientRect();
    paint(this, width, height);
  }

  /** Whether a document stands out. */
  stands(node) {
    return !this.wanted || this.wanted.has(node.id);
  }

  /** How large a document is drawn. */
  radius(node) {
    // From far away discs shrink less than the distances between them.
    return (4 + 1.3 * Math.sqrt(node.degree)) / Math.sqrt(Math.min(this.view.zoom, 1));
  }

  #world({ x, y }) {
    const { width, height } = this.canvas.getBoundingClientRect();
    return { x: (x - width / 2) / this.view.zoom + this.view.x, y: (y - height / 2) / this.view.zoom + this.view.y };
  }

  /** Where a document is drawn, in pixels of the canvas. */
  pointOf(id) {
    const node = this.nodes.find((one) => one.id === id);
    const { width, height } = this.canvas.getBoundingClientRect();
    return node && { x: (node.x - this.view.x) * this.view.zoom + width / 2, y: (node.y - this.view.y) * this.view.zoom + height / 2 };
  }

  #nodeAt(point) {
    const { x, y } = this.#world(point);
    const reach = 6 / this.view.zoom;
    return this.nodes.findLast((one) => Math.hypot(one.x - x, one.y - y) < this.radius(one) + reach) ?? null;
  }

  #point(event) {
    return { x: event.offsetX, y: event.offsetY };
  }

  #down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.#point(event));
    this.travelled = 0;
  }

  #move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.#hover(this.#nodeAt(this.#point(event)));
    const now = this.#point(event);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    if (others.length) this.zoom(Math.hypot(now.x - others[0].x, now.y - others[0].y) / (Math.hypot(before.x - others[0].x, before.y - others[0].y) || 1), others[0]);
    else {
      this.travelled += Math.hypot(now.x - before.x, now.y - before.y);
      if (this.travelled > 4) this.pan((before.x - now.x) / this.view.zoom, (before.y - now.y) / this.view.zoom);
    }
    this.pointers.set(event.pointerId, now);
    return undefined;
  }

  #up(event) {
    const alone = this.pointers.size === 1;
    this.pointers.delete(event.pointerId);
    const node = alone && event.type === "pointerup" && this.travelled <= 4 && this.#nodeAt(this.#point(event));
    if (node) this.choose(node);
  }

  #hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.canvas.classList.toggle("over", Boolean(node));
    this.draw();
  }

  /** Moves the picture. */
  pan(x, y) {
    this.touched = true;
    this.view.x += x;
    this.view.y += y;
    this.draw();
  }

  #wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), this.#point(event));
  }

  #key(event) {
    const by = 60 / this.view.zoom;
    const acts = { ArrowLeft: () => this.pan(-by, 0), ArrowRight: () => this.pan(by, 0), ArrowUp: () => this.pan(0, -by), ArrowDown: () => this.pan(0, by), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.whole() };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  #resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.touched) this.draw();
    else this.whole();
  }
}
