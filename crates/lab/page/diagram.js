// The space-time diagram: a lane for each node, time to the right, messages as arrows. Only what is visible is drawn, so
// that thousands of events scroll smoothly.

import { sharpen } from "./dom.js";
import { colourOf, theme } from "./colours.js";

const LEFT = 44; // the width of the lanes' names
const TOP = 22; // the height of the scale of ticks

export class Diagram {
  constructor(pane, onSelect) {
    this.pane = pane;
    this.onSelect = onSelect;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "spacetime";
    this.canvas.setAttribute("role", "img");
    pane.append(this.canvas);
    this.scroll = { x: 0, y: 0 };
    new ResizeObserver(() => this.redraw()).observe(pane);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event));
  }

  show(model, repeatsFrom) {
    this.model = model;
    this.last = null;
    this.repeatsFrom = repeatsFrom;
    this.selected = null;
    this.lit = null;
    this.scroll = { x: 0, y: 0 };
    this.isFollowing = true;
    const { timeline } = model;
    this.canvas.setAttribute("aria-label", `Space-time diagram of ${timeline.title}, ${timeline.events.length} events`);
    // Messages by the event that ends them, so that a window of events knows its arrows.
    this.longest = 1;
    for (const message of model.messages) {
      if (message.a != null) this.longest = Math.max(this.longest, model.times[message.a] - model.times[message.s]);
    }
  }

  select(event) {
    this.selected = event;
    this.lit = event == null ? null : this.model.causality(event);
    this.redraw();
  }

  draw(state, time, kind = null) {
    this.last = { state, time, kind };
    this.redraw();
  }

  sizes() {
    const { clientHeight: height, clientWidth: width } = this.pane;
    const lanes = this.model.timeline.labels.length;
    const lane = Math.max(9, Math.min(46, (height - TOP - 6) / lanes));
    const tick = Math.max(26, Math.min(70, (width - LEFT - 30) / Math.max(4, this.model.end)));
    return { lane, tick, lanes };
  }

  x(time) {
    return LEFT + 14 + time * this.geometry.tick - this.scroll.x;
  }

  y(node) {
    return TOP + (node + 0.5) * this.geometry.lane - this.scroll.y;
  }

  redraw() {
    if (!this.model || !this.last || !this.pane.clientWidth || !this.pane.clientHeight) return;
    const { context, width, height } = sharpen(this.canvas);
    this.geometry = this.sizes();
    const { state, time, kind } = this.last;
    this.follow(time, width);
    const colours = theme();
    context.clearRect(0, 0, width, height);
    const visible = this.window(width);
    this.drawLanes(context, colours, width, height, state);
    context.save();
    context.beginPath();
    context.rect(LEFT - 1, TOP - 4, width, height);
    context.clip();
    this.drawMessages(context, colours, visible, state.count, kind);
    this.drawEvents(context, colours, visible, state.count);
    context.restore();
    this.drawScale(context, colours, visible, width, height);
    this.drawPlayhead(context, colours, time, height);
  }

  // Keeps the present in the right half, until somebody scrolls.
  follow(time, width) {
    const most = Math.max(0, (this.model.end + 1) * this.geometry.tick - (width - LEFT));
    if (this.isFollowing) this.scroll.x = (time + 1.5) * this.geometry.tick - (width - LEFT) * 0.8;
    this.scroll.x = Math.max(0, Math.min(most, this.scroll.x));
    const tallest = Math.max(0, this.geometry.lanes * this.geometry.lane + TOP - this.pane.clientHeight + 6);
    this.scroll.y = Math.max(0, Math.min(tallest, this.scroll.y));
  }

  // The events in sight, with those whose messages may reach into it.
  window(width) {
    const from = (this.scroll.x - 20) / this.geometry.tick;
    const to = (this.scroll.x + width) / this.geometry.tick;
    const model = this.model;
    return {
      first: model.countAt(from - 0.001),
      last: model.countAt(to),
      firstSender: model.countAt(from - this.longest - 0.001),
    };
  }

  drawLanes(context, colours, width, height, state) {
    const { labels } = this.model.timeline;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    const step = Math.max(1, Math.ceil(13 / this.geometry.lane));
    for (let node = 0; node < labels.length; node++) {
      const y = this.y(node);
      if (y < TOP - 4 || y > height) continue;
      const role = state.nodes[node].role;
      context.strokeStyle = role === "leader" ? colours.accent : colours.line;
      context.lineWidth = role === "leader" ? 2.5 : 1;
      context.setLineDash(role === "down" ? [3, 4] : []);
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(width, y);
      context.stroke();
      if (node % step === 0) {
        context.fillStyle = role === "leader" ? colours.ink : colours.soft;
        context.font = `${role === "leader" ? "600 " : ""}12px system-ui, sans-serif`;
        context.fillText(`${role === "leader" ? "★ " : role === "down" ? "✕ " : ""}${labels[node] === "informer" ? "inf." : labels[node]}`, LEFT - 6, y);
      }
    }
    context.setLineDash([]);
    context.textAlign = "left";
  }

  drawMessages(context, colours, visible, count, kind) {
    const { messages, times, events } = this.model;
    for (let at = visible.firstSender; at < visible.last; at++) {
      const sent = events[at].s;
      if (!sent) continue;
      for (let index = sent[0]; index < sent[0] + sent[1]; index++) this.drawMessage(context, colours, messages[index], times, count, kind);
    }
  }

  drawMessage(context, colours, message, times, count, kind) {
    const isFuture = message.s >= count;
    const isLit = !this.lit || this.isLit(message.s) && (message.a == null || this.isLit(message.a));
    context.globalAlpha = (isFuture ? 0.18 : message.a == null || message.a >= count ? 0.55 : 1) * (isLit ? 1 : 0.15) * (kind == null || kind === message.k ? 1 : 0.12);
    const [x1, y1] = [this.x(times[message.s]), this.y(message.f)];
    const end = message.a == null ? times[message.s] + 1 : times[message.a];
    let [x2, y2] = [this.x(end), this.y(message.o)];
    const isLost = message.z != null || message.a == null;
    if (isLost) {
      x2 = x1 + (x2 - x1) * 0.8;
      y2 = y1 + (y2 - y1) * 0.8;
    }
    context.strokeStyle = colourOf(message.k);
    context.lineWidth = 1.6;
    context.setLineDash(isLost ? [4, 3] : []);
    context.beginPath();
    if (message.f === message.o) context.arc((x1 + x2) / 2, y1 - 4, Math.max(4, (x2 - x1) / 2), Math.PI, 0);
    else {
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
    context.setLineDash([]);
    if (isLost && message.a != null) {
      context.beginPath();
      context.moveTo(x2 - 4, y2 - 4);
      context.lineTo(x2 + 4, y2 + 4);
      context.moveTo(x2 - 4, y2 + 4);
      context.lineTo(x2 + 4, y2 - 4);
      context.stroke();
    } else if (!isLost) arrow(context, x1, y1, x2, y2, colourOf(message.k));
    context.globalAlpha = 1;
  }

  isLit(event) {
    return event === this.selected || this.lit.past.has(event) || this.lit.future.has(event);
  }

  drawEvents(context, colours, visible, count) {
    const { events, times } = this.model;
    const r = Math.max(2, Math.min(4.5, this.geometry.lane * 0.2));
    for (let at = visible.first; at < visible.last; at++) {
      const event = events[at];
      const [x, y] = [this.x(times[at]), this.y(event.n)];
      context.globalAlpha = (at < count ? 1 : 0.25) * (this.lit && !this.isLit(at) ? 0.25 : 1);
      let colour = colours.ink;
      if (this.lit?.past.has(at)) colour = colours.past;
      if (this.lit?.future.has(at)) colour = colours.future;
      context.fillStyle = colour;
      context.strokeStyle = colour;
      if (event.k === "crash" || event.k === "left") cross(context, x, y, r * 1.4, colours.bad);
      else if (event.r === "leader") star(context, x, y, r * 2, colours);
      else {
        context.beginPath();
        context.arc(x, y, r, 0, 2 * Math.PI);
        context.fill();
      }
      if (at === this.selected) {
        context.globalAlpha = 1;
        context.lineWidth = 2;
        context.strokeStyle = colours.accent;
        context.beginPath();
        context.arc(x, y, r + 4, 0, 2 * Math.PI);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  drawScale(context, colours, visible, width, height) {
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, TOP - 4);
    context.fillStyle = colours.soft;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    const { events, times } = this.model;
    let last = -Infinity;
    for (let at = visible.first; at < visible.last; at++) {
      if (at > 0 && events[at].t === events[at - 1].t) continue;
      const x = this.x(times[at]);
      if (x < LEFT || x - last < 28) continue;
      last = x;
      context.fillText(String(events[at].t), x - 3, 3);
    }
    context.fillText("tick", 8, 3);
    if (this.repeatsFrom != null && this.repeatsFrom < events.length) {
      const x = this.x(times[this.repeatsFrom]) - 6;
      context.strokeStyle = colours.bad;
      context.setLineDash([6, 4]);
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x, TOP);
      context.lineTo(x, height);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colours.bad;
      context.fillText("↻ repeats forever from here", x + 5, TOP);
    }
  }

  drawPlayhead(context, colours, time, height) {
    const x = this.x(time);
    if (x < LEFT) return;
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, TOP - 4);
    context.lineTo(x, height);
    context.stroke();
  }

  wheel(event) {
    event.preventDefault();
    this.isFollowing = false;
    this.scroll.x += event.shiftKey ? event.deltaY : event.deltaX;
    if (!event.shiftKey) this.scroll.y += event.deltaY;
    this.redraw();
  }

  grab(event) {
    const start = { x: event.clientX, y: event.clientY, scroll: { ...this.scroll } };
    this.dragged = false;
    const move = (to) => {
      if (Math.hypot(to.clientX - start.x, to.clientY - start.y) > 4) this.dragged = true;
      if (!this.dragged) return;
      this.isFollowing = false;
      this.scroll = { x: start.scroll.x - (to.clientX - start.x), y: start.scroll.y - (to.clientY - start.y) };
      this.redraw();
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  click(event) {
    if (this.dragged || !this.geometry) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let found = null;
    let best = 14 ** 2;
    const visible = this.window(this.pane.clientWidth);
    for (let at = visible.first; at < visible.last; at++) {
      const distance = (this.x(this.model.times[at]) - x) ** 2 + (this.y(this.model.events[at].n) - y) ** 2;
      if (distance < best) {
        best = distance;
        found = at;
      }
    }
    this.onSelect(found === this.selected ? null : found);
  }
}

function arrow(context, x1, y1, x2, y2, colour) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 8 * Math.cos(angle - 0.4), y2 - 8 * Math.sin(angle - 0.4));
  context.lineTo(x2 - 8 * Math.cos(angle + 0.4), y2 - 8 * Math.sin(angle + 0.4));
  context.fill();
}

function cross(context, x, y, r, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(x - r, y - r);
  context.lineTo(x + r, y + r);
  context.moveTo(x - r, y + r);
  context.lineTo(x + r, y - r);
  context.stroke();
}

function star(context, x, y, r, colours) {
  context.fillStyle = colours.accent;
  context.beginPath();
  for (let at = 0; at < 10; at++) {
    const length = at % 2 ? r * 0.5 : r * 1.2;
    const angle = (Math.PI * at) / 5 - Math.PI / 2;
    context.lineTo(x + length * Math.cos(angle), y + length * Math.sin(angle));
  }
  context.fill();
}
