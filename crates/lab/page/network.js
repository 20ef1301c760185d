// The network: nodes and links as SVG, because they can be focused and read aloud; messages on a canvas above them,
// because there may be thousands.

import { s, sharpen, prefersStill } from "./dom.js";
import { along, distanceToLine, fit, loop, nearest, place, radius, star } from "./geometry.js";
import { linkName } from "./model.js";
import { mark, theme } from "./colours.js";

const ROLES = {
  idle: "has not taken part yet",
  candidate: "takes part",
  passive: "passes messages on",
  follower: "follows",
  leader: "leads",
  down: "is down",
};

const MAX_LABELLED = 24; // messages in flight that get a text

export class NetworkView {
  // `onNode(at, event)`, `onMessage(index, event)`, `onLink(a, b, event)` open menus; `onHover(at)` shows a node.
  constructor(pane, callbacks = {}) {
    this.pane = pane;
    this.callbacks = callbacks;
    this.svg = s("svg", { class: "net", role: "group", "aria-label": "The network" });
    this.canvas = document.createElement("canvas");
    this.canvas.className = "flights";
    this.canvas.setAttribute("aria-hidden", "true");
    pane.append(this.svg, this.canvas);
    this.links = s("g", { class: "links" });
    this.rings = s("g", { class: "rings" });
    this.nodes = s("g", { class: "nodes" });
    this.svg.append(this.rings, this.links, this.nodes);
    this.drawn = [];
    new ResizeObserver(() => this.arrange()).observe(pane);
    pane.addEventListener("contextmenu", (event) => this.pointed(event, true));
    pane.addEventListener("click", (event) => this.pointed(event, false));
  }

  show(model, places) {
    this.model = model;
    this.last = null;
    const { layout, labels } = model.timeline;
    this.places = places?.length === layout.nodes.length ? places : layout.nodes;
    this.shown = null;
    this.nodes.replaceChildren();
    this.links.replaceChildren();
    this.rings.replaceChildren(...layout.rings.map(() => s("ellipse", { class: "level" })));
    this.linkElements = new Map();
    for (const [a, b] of layout.links) {
      const line = s("line", { class: "link" });
      this.linkElements.set(linkName(a, b), { line, a, b });
      this.links.append(line);
    }
    this.drawn = labels.map((label, at) => this.makeNode(label, at));
    this.nodes.append(...this.drawn.map((node) => node.group));
    this.arrange();
  }

  makeNode(label, at) {
    const text = s("text", { class: "label", dy: "0.35em" }, label === "informer" ? "i" : label);
    const body = s("g", { class: "body" });
    const group = s("g", { class: "node", tabindex: at === 0 ? 0 : -1, role: "button", "data-at": at }, body, text);
    group.addEventListener("focus", () => this.callbacks.onHover?.(at));
    group.addEventListener("pointerenter", () => this.callbacks.onHover?.(at));
    group.addEventListener("pointerleave", () => this.callbacks.onHover?.(null));
    group.addEventListener("keydown", (event) => this.nodeKey(event, at));
    return { group, body, text, label, role: null, x: 0, y: 0 };
  }

  // Arrow keys move among nodes while one is focused; Enter opens its menu.
  nodeKey(event, at) {
    if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      const box = this.drawn[at].group.getBoundingClientRect();
      this.callbacks.onNode?.(at, { x: box.right, y: box.bottom, from: this.drawn[at].group });
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.focusNode((at + step + this.drawn.length) % this.drawn.length);
  }

  focusNode(at) {
    this.drawn.forEach((node, other) => node.group.setAttribute("tabindex", other === at ? 0 : -1));
    this.drawn[at]?.group.focus();
  }

  arrange() {
    if (!this.model || !this.pane.clientWidth) return;
    const { clientWidth: width, clientHeight: height } = this.pane;
    const { layout } = this.model.timeline;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    // The buttons at the bottom of a pane that can be used need room.
    const foot = this.callbacks.onNode ? 44 : 0;
    const first = fit(width, height - foot, 0);
    this.radius = radius(this.drawn.length, first, layout.shape);
    this.box = fit(width, height - foot, this.drawn.length > 60 ? 48 : Math.min(this.radius * 1.6 + 12, 56));
    this.drawn.forEach((node, at) => {
      Object.assign(node, place(this.places[at], this.box));
      node.group.setAttribute("transform", `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
      node.role = null;
    });
    [...this.rings.children].forEach((ring, at) => {
      const r = layout.rings[at] * this.box.scale;
      for (const [key, value] of Object.entries({ cx: this.box.x, cy: this.box.y, rx: r * this.box.stretch, ry: r })) {
        ring.setAttribute(key, value.toFixed(1));
      }
    });
    for (const { line, a, b } of this.linkElements.values()) {
      const [from, to] = [this.drawn[a], this.drawn[b]];
      for (const [key, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) {
        line.setAttribute(key, value.toFixed(1));
      }
    }
    this.nodes.classList.toggle("tiny", this.radius < 9);
    this.shown = null;
    this.draw(this.last?.state, this.last?.time ?? 0);
  }

  // Shows a state, with messages where they are at a time.
  draw(state, time, options = {}) {
    if (!state || !this.box) return;
    this.last = { state, time };
    if (this.shown !== state) this.drawNodes(state, options);
    this.drawFlights(state, time, options);
  }

  drawNodes(state, options) {
    const before = this.shown;
    state.nodes.forEach((node, at) => {
      if (before && before.nodes[at] === node && this.drawn[at].role) return;
      this.drawNode(at, node, state);
    });
    if (before?.last && before.last.n !== state.last?.n) this.drawn[before.last.n]?.group.classList.remove("now");
    if (state.last) this.drawn[state.last.n]?.group.classList.add("now");
    for (const [name, { line }] of this.linkElements) line.classList.toggle("cut", state.cuts.has(name));
    this.shown = state;
    this.pinned = options.pinned;
  }

  drawNode(at, node, state) {
    const drawn = this.drawn[at];
    const r = this.radius;
    if (drawn.role !== node.role) {
      drawn.role = node.role;
      drawn.group.setAttribute("class", `node ${node.role}`);
      drawn.body.replaceChildren(...bodyOf(node.role, r, drawn.label === "informer"));
      drawn.text.setAttribute("font-size", Math.max(6, Math.min(18, r * 0.85)));
    }
    const leader = node.leader >= 0 ? this.drawn[node.leader]?.label : null;
    const says = node.role === "follower" ? `follows node ${leader}` : ROLES[node.role];
    drawn.group.setAttribute("aria-label", `Node ${drawn.label} ${says}. Enter: break it.`);
    void state;
  }

  drawFlights(state, time, { still = prefersStill(), kind = null } = {}) {
    const { context, width, height } = sharpen(this.canvas);
    context.clearRect(0, 0, width, height);
    const colours = theme();
    const flights = this.model.inFlight(state.count);
    this.flights = [];
    const isComplete = this.model.timeline.layout.shape === "complete";
    const size = Math.max(2.5, Math.min(8, this.radius * 0.36));
    const aside = Math.min(7, this.radius * 0.4);
    const paths = [];
    for (const index of flights) {
      const message = this.model.messages[index];
      const [from, to] = [this.drawn[message.f], this.drawn[message.o]];
      if (!from || !to) continue;
      const part = still ? 0.5 : this.model.progress(message, time);
      const at = message.f === message.o ? loop(from, part, this.radius) : along(from, to, part, aside, this.radius + size * 0.6);
      const isFaded = kind != null && kind !== message.k;
      this.flights.push({ x: at.x, y: at.y, index });
      if (isComplete || message.d || !this.linkElements.has(linkName(message.f, message.o))) paths.push([from, to]);
      context.globalAlpha = isFaded ? 0.15 : 1;
      mark(context, message.k, at.x, at.y, size);
    }
    if (paths.length) this.drawPaths(context, paths, colours);
    context.globalAlpha = 1;
    if (this.flights.length <= MAX_LABELLED && size >= 5) this.drawTexts(context, colours, size);
  }

  drawPaths(context, paths, colours) {
    context.globalCompositeOperation = "destination-over";
    context.globalAlpha = paths.length > 200 ? 0.25 : 0.8;
    context.strokeStyle = colours.line;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [from, to] of paths) {
      const [start, end] = [along(from, to, 0, 0, this.radius + 1), along(from, to, 1, 0, this.radius + 1)];
      context.moveTo(start.x, start.y);
      context.lineTo(end.x, end.y);
    }
    context.stroke();
    context.globalCompositeOperation = "source-over";
  }

  drawTexts(context, colours, size) {
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.lineJoin = "round";
    const taken = [];
    for (const { x, y, index } of this.flights) {
      const message = this.model.messages[index];
      const text = `${this.model.timeline.kinds[message.k]}${message.x ? ` ${short(message.x)}` : ""}`;
      const width = context.measureText(text).width;
      const isRight = x + size + 6 + width < this.canvas.clientWidth;
      const left = isRight ? x + size + 3 : x - size - 3 - width;
      const box = { left, right: left + width, y };
      // A text that would cover another is left out; the list of messages has it.
      if (taken.some((other) => Math.abs(other.y - y) < 13 && other.left < box.right && box.left < other.right)) continue;
      taken.push(box);
      context.strokeStyle = colours.paper;
      context.strokeText(text, box.left, y);
      context.fillStyle = colours.ink;
      context.fillText(text, box.left, y);
    }
  }

  // What is under the pointer: a message first, then a node, then a link.
  pointed(event, isMenu) {
    const box = this.pane.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (event.target.closest?.(".over")) return;
    const where = { x: event.clientX, y: event.clientY };
    const flight = nearest(this.flights ?? [], x, y, 12);
    const node = nearest(this.drawn, x, y, this.radius * 1.3 + 3);
    if (flight && this.callbacks.onMessage) {
      event.preventDefault();
      this.callbacks.onMessage(flight.index, where);
    } else if (node && this.callbacks.onNode) {
      event.preventDefault();
      this.callbacks.onNode(this.drawn.indexOf(node), where);
    } else if (this.callbacks.onLink) {
      const link = this.linkNear(x, y);
      if (!link) return;
      if (isMenu) event.preventDefault();
      this.callbacks.onLink(link.a, link.b, where);
    }
  }

  linkNear(x, y) {
    let found = null;
    let best = 7;
    for (const { a, b } of this.linkElements?.values() ?? []) {
      const distance = distanceToLine(this.drawn[a], this.drawn[b], x, y);
      if (distance < best) {
        best = distance;
        found = { a, b };
      }
    }
    return found;
  }
}

// The body of a node says its role by its shape alone.
function bodyOf(role, r, isInformer) {
  if (isInformer) return [s("rect", { class: "shape", x: -r, y: -r, width: 2 * r, height: 2 * r, rx: 4 })];
  const circle = (radius, name) => s("circle", { r: radius.toFixed(1), class: name });
  if (role === "leader") {
    return [circle(r * 1.75, "halo"), s("polygon", { points: star(r * 1.15), class: "shape" })];
  }
  if (role === "follower") return [circle(r, "shape"), circle(r * 0.8, "inner")];
  if (role === "down") {
    const d = r * 0.72;
    return [circle(r, "shape"), s("path", { class: "cross", d: `M${-d} ${-d}L${d} ${d}M${-d} ${d}L${d} ${-d}` })];
  }
  return [circle(r, "shape")];
}

function short(text) {
  return text.length > 18 ? `${text.slice(0, 17)}…` : text;
}
