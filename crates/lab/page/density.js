// Runs that are too large to draw node by node: the ring as sectors, and time as bins. A bin is a step, so that all the
// controls work as usual.

import { sharpen } from "./dom.js";
import { theme } from "./colours.js";

export class DensityModel {
  constructor(timeline) {
    this.timeline = { ...timeline, labels: timeline.labels };
    this.density = timeline.density;
    this.length = this.density.bins.length;
    this.events = [];
    this.messages = [];
    this.end = this.length;
    this.most = Math.max(1, ...this.density.bins.map((bin) => Math.max(...bin)));
    this.nodes = timeline.labels.map(() => ({ role: "idle", leader: -1, vars: {} }));
    const sums = [timeline.kinds.map(() => 0)];
    for (const kinds of this.density.kinds) sums.push(sums[sums.length - 1].map((sum, kind) => sum + (kinds[kind] ?? 0)));
    this.sums = sums;
  }

  state(count) {
    const { ticks, leads, crashes, nodes } = this.density;
    const now = count * ticks;
    // A leader that has crashed since leads no more.
    const isGone = ([since, node]) => crashes.some(([tick, at]) => at === node && tick > since && tick < now);
    const lead = leads.filter((one) => one[0] < now && !isGone(one)).pop();
    const isEnd = count === this.length;
    const { outcome, labels } = this.timeline;
    const leader = isEnd ? outcome.leader : lead?.[1];
    const arrivals = count ? this.density.bins[count - 1].reduce((sum, one) => sum + one, 0) : 0;
    const roles = this.nodes.slice();
    if (leader != null) roles[leader] = { role: "leader", leader, vars: {} };
    const words = count === 0 ? `${nodes.toLocaleString("en")} nodes are too many to draw one by one: each sector of the ring stands for about ${Math.round(nodes / this.density.sectors).toLocaleString("en")}, and its height for the messages that arrive there.`
      : `${arrivals.toLocaleString("en")} messages arrive from tick ${(count - 1) * ticks} to ${now - 1}.${leader != null ? ` Node ${labels[leader]} leads.` : ""}`;
    return { count, nodes: roles, counts: isEnd ? outcome.by_kind : this.sums[count], lost: isEnd ? outcome.lost : 0, leaders: leader == null ? 0 : 1, conflict: false, agreed: isEnd && outcome.agreement, cuts: new Set(), crashes, leader, last: { t: Math.max(0, now - 1), w: words } };
  }

  countAt(time) {
    return Math.max(0, Math.min(this.length, Math.floor(time)));
  }

  timeOf(count) {
    return count;
  }

  inFlight() {
    return [];
  }
}

export class DensityView {
  constructor(network, diagram) {
    this.ring = document.createElement("canvas");
    this.map = document.createElement("canvas");
    this.ring.className = "density";
    this.map.className = "density";
    this.ring.setAttribute("role", "img");
    this.map.setAttribute("role", "img");
    network.append(this.ring);
    diagram.append(this.map);
    new ResizeObserver(() => this.last && this.draw(this.last.state)).observe(network);
  }

  show(model) {
    this.model = model;
    this.last = null;
    this.ring.setAttribute("aria-label", "Activity by sector of the ring");
    this.map.setAttribute("aria-label", "Activity by sector and time");
  }

  draw(state) {
    this.last = { state };
    if (!this.model) return;
    this.drawRing(state);
    this.drawMap(state);
  }

  drawRing(state) {
    const { context, width, height } = sharpen(this.ring);
    const colours = theme();
    context.clearRect(0, 0, width, height);
    const { sectors, nodes } = this.model.density;
    const bin = this.model.density.bins[Math.max(0, state.count - 1)] ?? [];
    const base = Math.min(width, height) * 0.26;
    const tall = Math.min(width, height) * 0.17;
    const step = (2 * Math.PI) / sectors;
    for (let sector = 0; sector < sectors; sector++) {
      const value = state.count ? Math.sqrt((bin[sector] ?? 0) / this.model.most) : 0;
      const angle = sector * step - Math.PI / 2;
      context.beginPath();
      context.arc(width / 2, height / 2, base + 4 + value * tall, angle + step * 0.06, angle + step * 0.94);
      context.arc(width / 2, height / 2, base, angle + step * 0.94, angle + step * 0.06, true);
      context.fillStyle = value ? colours.past : colours.line;
      context.fill();
    }
    if (state.leader != null) {
      const angle = (2 * Math.PI * state.leader) / nodes - Math.PI / 2;
      context.font = "28px system-ui, sans-serif";
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = colours.accent;
      context.fillText("★", width / 2 + Math.cos(angle) * (base - 22), height / 2 + Math.sin(angle) * (base - 22));
    }
    context.font = "600 20px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = colours.ink;
    context.fillText(`${nodes.toLocaleString("en")} nodes`, width / 2, height / 2);
  }

  drawMap(state) {
    const { context, width, height } = sharpen(this.map);
    const colours = theme();
    context.clearRect(0, 0, width, height);
    const { sectors, bins, ticks } = this.model.density;
    const [left, top] = [44, 22];
    const cell = { w: (width - left - 8) / bins.length, h: (height - top - 8) / sectors };
    for (let bin = 0; bin < bins.length; bin++) {
      for (let sector = 0; sector < sectors; sector++) {
        const value = bins[bin][sector];
        if (!value) continue;
        context.globalAlpha = (bin < state.count ? 1 : 0.3) * (0.15 + 0.85 * Math.sqrt(value / this.model.most));
        context.fillStyle = colours.past;
        context.fillRect(left + bin * cell.w, top + sector * cell.h, Math.max(1, cell.w - 0.5), Math.max(1, cell.h));
      }
    }
    context.globalAlpha = 1;
    context.fillStyle = colours.soft;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    for (let at = 0; at <= 4; at++) context.fillText(String(Math.round((bins.length * ticks * at) / 4)), left + ((width - left - 40) * at) / 4, 3);
    context.fillText("tick", 8, 3);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(left + state.count * cell.w, top - 4);
    context.lineTo(left + state.count * cell.w, height);
    context.stroke();
  }
}
