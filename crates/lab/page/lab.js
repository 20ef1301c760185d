// The Run view: one run, its position, and everything that shows it.

import { $, h, replace, say } from "./dom.js";
import * as api from "./api.js";
import { describe, format, intervene, tree } from "./codec.js";
import { Model, linkName } from "./model.js";
import { NetworkView } from "./network.js";
import { Diagram } from "./diagram.js";
import { DensityView, DensityModel } from "./density.js";
import { Counters, Flights, Inspector, leading } from "./panels.js";
import { Player } from "./player.js";
import { showDialog, showMenu, toast } from "./menu.js";

export class Lab {
  // `onAddress(run)` puts a run into the address.
  constructor(root, form, onAddress) {
    this.root = root;
    this.form = form;
    this.onAddress = onAddress;
    this.player = new Player(() => this.draw());
    this.network = new NetworkView($("#network"), {
      onNode: (at, where) => this.nodeMenu(at, where),
      onMessage: (index, where) => this.messageMenu(index, where),
      onLink: (a, b, where) => this.linkMenu(a, b, where),
      onHover: (at) => this.hover(at),
    });
    this.diagram = new Diagram($("#diagram"), (event) => this.selectEvent(event));
    this.density = new DensityView($("#network"), $("#diagram"));
    this.counters = new Counters($("#counters"), { onKind: (kind) => this.highlight(kind), onEvents: (kind) => this.listEvents(kind) });
    this.inspector = new Inspector($("#inspector"));
    this.flights = new Flights($("#flights"), (index, where) => this.messageMenu(index, where));
    this.branches = new Map();
    this.bind();
  }

  bind() {
    const { player } = this;
    $("#first").onclick = () => player.jump(0);
    $("#back").onclick = () => player.step(-1);
    $("#play").onclick = () => player.toggle();
    $("#next").onclick = () => player.step(1);
    $("#last").onclick = () => player.jump(this.model.length);
    $("#scrub").oninput = (event) => player.step(Number(event.target.value) - player.count);
    $("#speed").onclick = () => (player.rate >= 16 ? ((player.rate = 0.25), this.draw()) : player.faster(1));
    $("#crash-leader").onclick = () => this.crashLeader();
    $("#notice").onclick = () => this.do(`start:${this.suggested}`);
    $("#heal").onclick = () => this.do("heal:all");
    $("#split").onclick = () => this.split();
    for (const tab of this.root.querySelectorAll(".tabs button")) {
      tab.onclick = () => {
        $(".stage", this.root).dataset.tab = tab.dataset.tab;
        for (const other of this.root.querySelectorAll(".tabs button")) other.setAttribute("aria-selected", String(other === tab));
        this.network.arrange();
        this.diagram.redraw();
      };
    }
  }

  // Runs and shows. A run with the same text is not run again.
  async show(run, { keep = false } = {}) {
    const text = run.opened != null ? `opened ${run.opened}` : format(run, false);
    this.form.show(run);
    this.run = run;
    if (text !== this.text) {
      this.root.classList.add("busy");
      try {
        const timeline = run.opened != null ? await api.opened(run.opened) : await this.fetch(text);
        this.text = text;
        this.take(timeline, run);
      } catch (error) {
        this.fail(error, keep);
        return false;
      } finally {
        this.root.classList.remove("busy");
      }
    }
    this.player.show(this.model, run.at ?? 0);
    return true;
  }

  async fetch(text) {
    this.cache ??= new Map();
    if (!this.cache.has(text)) {
      this.cache.set(text, await api.simulate(text));
      if (this.cache.size > 12) this.cache.delete(this.cache.keys().next().value);
    }
    return this.cache.get(text);
  }

  // Shows a timeline that is not a run of ours, such as a trace from a file.
  showTimeline(timeline) {
    this.text = null;
    this.run = { a: timeline.algorithm, do: [], isForeign: true };
    this.take(timeline, this.run);
    this.player.show(this.model, 0);
  }

  take(timeline, run) {
    // What still plays belongs to the former run.
    this.player.pause();
    const isDense = timeline.layout.shape === "density";
    this.isForeign = run.opened != null || run.isForeign;
    this.model = isDense ? new DensityModel(timeline) : new Model(timeline);
    this.isDense = isDense;
    this.root.classList.toggle("dense", isDense);
    this.pinned = null;
    this.hovered = null;
    this.kind = null;
    if (isDense) this.density.show(this.model);
    else {
      this.network.show(this.model, drawnPlaces(run.view));
      this.diagram.show(this.model, timeline.violation?.repeats_from);
    }
    this.counters.show(this.model);
    this.form.showSize(timeline.members);
    $("#scrub").max = this.model.length;
    this.remember(run);
    for (const warning of timeline.warnings.slice(0, 1)) toast(warning);
    if (timeline.stopped) toast(`This run is shown in part: ${timeline.stopped}.`);
    else if (timeline.total > timeline.events.length && !isDense) toast(`The first ${timeline.events.length.toLocaleString("en")} of ${timeline.total.toLocaleString("en")} events are shown.`);
    document.title = `${timeline.title} · Hustings`;
  }

  fail(error, keep) {
    if (error.field === "do" || keep) toast(error.message, "bad");
    else this.form.fail(error);
    if (error.status === 401) this.form.fail(error);
    if (!this.model) {
      say($("#leader"), "No election");
      say($("#leader-more"), "because of what is said above");
      say($("#say"), error.message);
      for (const button of this.root.querySelectorAll(".break button")) button.hidden = true;
    }
    // After an intervention that cannot be done, the former run stays.
    if (keep && this.former) {
      this.run = this.former;
      this.form.show(this.run);
    }
  }

  // Everything follows from the position.
  draw() {
    const { model, player } = this;
    if (!model) return;
    const state = model.state(player.count);
    this.state = state;
    if (this.isDense) this.density.draw(state, player.time);
    else {
      this.network.draw(state, player.time, { kind: this.kind });
      this.diagram.draw(state, player.time, this.kind);
      this.inspector.draw(model, state, this.pinned ?? this.hovered ?? state.last?.n ?? null, this.pinned != null);
      // Lists change too often to be read while it plays.
      if (!player.isPlaying) this.flights.draw(model, state);
    }
    this.counters.draw(state, this.kind);
    this.drawTransport(state);
    this.drawLeading(state);
    if (!player.isPlaying) this.remark(state);
    this.drawBreak(state);
  }

  drawTransport(state) {
    const { player, model } = this;
    const scrub = $("#scrub");
    scrub.value = player.count;
    scrub.style.setProperty("--part", `${model.length ? (100 * player.count) / model.length : 0}%`);
    const what = this.isDense ? "step" : "event";
    say($("#position"), `${what} ${player.count} of ${model.length} · tick ${state.last?.t ?? 0}`);
    scrub.setAttribute("aria-valuetext", `event ${player.count} of ${model.length}`);
    $("#play").setAttribute("aria-label", player.isPlaying ? "Pause" : "Play");
    $("#play").classList.toggle("playing", player.isPlaying);
    say($("#speed"), `${player.rate}×`);
    clearTimeout(this.addressTimer);
    if (!player.isPlaying) this.addressTimer = setTimeout(() => this.onAddress({ ...this.run, at: player.count || undefined }), 250);
    if (player.isPlaying) say($("#say"), state.last?.w ?? this.intro());
  }

  drawLeading(state) {
    const { text, more, tone, violation } = leading(this.model, state);
    say($("#leader"), text);
    say($("#leader-more"), more);
    $(".leading", this.root).dataset.tone = tone;
    say($("#property"), violation ? `violates ${violation.property}: ${violation.statement}` : "");
  }

  remark(state) {
    say($("#say"), state.last?.w ?? this.intro());
  }

  intro() {
    const { timeline } = this.model;
    return `${timeline.title}. Press play, or step with the arrow keys. Click a node, a link or a message to break it.`;
  }

  // The buttons that break and mend, and what would help now.
  drawBreak(state) {
    const { labels, members } = this.model.timeline;
    const isOurs = !this.isForeign && !this.isDense;
    const leader = state.nodes.findIndex((node) => node.role === "leader");
    const button = $("#crash-leader");
    button.hidden = !isOurs;
    button.disabled = leader < 0;
    say(button, leader >= 0 ? `Crash the leader, ${labels[leader]}` : "Crash the leader");
    $("#heal").hidden = !isOurs || state.cuts.size === 0;
    $("#split").hidden = !isOurs || members < 2;
    // A dead leader that somebody names, and nobody who does anything about it.
    const isStuck = state.nodes.some((node) => node.leader >= 0 && state.nodes[node.leader]?.role === "down");
    const isQuiet = this.model.inFlight(state.count).length === 0 && this.player.count === this.model.length;
    const live = state.nodes.slice(0, members).findIndex((node) => node.role !== "down");
    const notice = $("#notice");
    notice.hidden = !(isOurs && isStuck && isQuiet && leader < 0 && live >= 0);
    if (!notice.hidden) {
      this.suggested = live;
      say(notice, `Let node ${labels[live]} notice`);
      say($("#say"), `The leader that is named here is down, and no node leads. Let one notice: click it and choose “Start an election”.`);
    }
  }

  hover(at) {
    this.hovered = at;
    if (!this.player.isPlaying && this.model && !this.isDense) this.inspector.draw(this.model, this.state, this.pinned ?? at ?? this.state.last?.n ?? null, this.pinned != null);
  }

  highlight(kind) {
    this.kind = this.kind === kind ? null : kind;
    this.draw();
  }

  selectEvent(event) {
    this.diagram.select(event);
    if (event != null) this.player.step(event + 1 - this.player.count);
  }

  // The events that a number counts.
  listEvents(kind) {
    const { labels, kinds } = this.model.timeline;
    const found = (this.model.messages ?? []).map((message, index) => ({ message, index })).filter(({ message }) => !message.c && message.s < this.player.count && (kind < 0 || message.k === kind));
    const title = kind < 0 ? `${found.length} messages` : `${found.length} × ${kinds[kind]}`;
    const dialog = showDialog(title, h("ol", { class: "event-list" }, found.slice(0, 300).map(({ message }) =>
      h("li", {}, h("button", { type: "button", class: "plain", onclick: () => {
        dialog.close();
        this.selectEvent(message.s);
      } }, `tick ${this.model.events[message.s].t}: ${labels[message.f]} → ${labels[message.o]}, ${kinds[message.k]} ${message.x}${message.z ? ` (${message.z})` : ""}`)))),
      found.length > 300 ? h("p", { class: "soft" }, `and ${found.length - 300} more`) : null);
  }

  // Does something by hand at the present position: the run forks here.
  async do(action) {
    if (this.isForeign) return toast("A recorded run can be watched, not changed.");
    const after = this.player.count;
    this.former = this.run;
    const run = { ...intervene(this.run, after, action), at: after + 1, lesson: this.run.lesson };
    const isDone = await this.show(run, { keep: true });
    if (isDone) {
      this.onAddress({ ...run, at: this.player.count }, true);
      this.player.play();
    }
  }

  crashLeader() {
    const leader = this.state.nodes.findIndex((node) => node.role === "leader");
    if (leader >= 0) this.do(`crash:${leader}`);
  }

  // Splits into two halves of positions; a menu of links offers finer cuts.
  split() {
    const { members, labels } = this.model.timeline;
    const half = Math.ceil(members / 2);
    const last = labels.length - 1;
    if (half <= last) this.do(`split:0-${half - 1}/${half}-${last}`);
  }

  nodeMenu(at, where) {
    const { labels, members } = this.model.timeline;
    const node = this.state.nodes[at];
    const isDown = node.role === "down";
    const items = [
      isDown
        ? { text: "Revive", hint: "It comes back with fresh state", action: () => this.do(`revive:${at}`) }
        : { text: "Crash", bad: true, hint: "It stops at once and forgets everything", action: () => this.do(`crash:${at}`) },
      { text: "Start an election", disabled: isDown || at >= members, hint: "It gets a start signal", action: () => this.do(`start:${at}`) },
      { text: "Cut off from all others", disabled: members < 2, action: () => this.do(`split:${at}`) },
      { text: this.pinned === at ? "Unpin its variables" : "Pin its variables", action: () => {
        this.pinned = this.pinned === at ? null : at;
        this.draw();
      } },
    ];
    showMenu(`Node ${labels[at]}`, this.isForeign ? items.slice(-1) : items, where);
  }

  messageMenu(index, where) {
    const message = this.model.messages[index];
    const { labels, kinds } = this.model.timeline;
    const name = `${message.s}.${message.i}${message.c ? "c" : ""}`;
    const title = `${kinds[message.k]} ${message.x}, ${labels[message.f]} → ${labels[message.o]}`;
    this.player.pause();
    if (this.isForeign) return toast(title);
    showMenu(title, [
      { text: "Drop", bad: true, hint: "It is lost", action: () => this.do(`drop:${name}`) },
      { text: "Delay by 5 ticks", action: () => this.do(`delay:${name}+5`) },
      { text: "Duplicate", hint: "It arrives twice", action: () => this.do(`duplicate:${name}`) },
      { text: "Deliver now", action: () => this.do(`deliver:${name}`) },
    ], where);
  }

  linkMenu(a, b, where) {
    const { labels } = this.model.timeline;
    const isCut = this.state.cuts.has(linkName(a, b));
    if (this.isForeign) return;
    showMenu(`Link ${labels[a]} – ${labels[b]}`, [
      isCut ? { text: "Heal", action: () => this.do(`heal:${a}-${b}`) } : { text: "Cut", bad: true, action: () => this.do(`cut:${a}-${b}`) },
    ], where);
  }

  // Branches of the same run, as a small tree under the transport bar.
  remember(run) {
    const base = format({ ...run, do: [] }, false);
    if (this.base !== base) {
      this.base = base;
      this.branches = new Map([["", []]]);
    }
    for (let length = 1; length <= run.do.length; length++) {
      const list = run.do.slice(0, length);
      this.branches.set(list.join(";"), list);
    }
    const pane = $("#branches");
    pane.hidden = this.branches.size < 2 || this.isForeign;
    if (pane.hidden) return;
    const lists = [...this.branches.values()];
    const { labels } = this.model.timeline;
    replace(pane, h("span", { class: "soft" }, "Branches"), tree(lists).map(({ list, depth }) => {
      const last = list.length ? describe(list[list.length - 1], labels) : null;
      const isHere = list.join(";") === run.do.join(";");
      return h("button", { type: "button", class: `branch${isHere ? " here" : ""}`, "aria-current": isHere ? "true" : null, title: list.map((one) => describe(one, labels).text).join(", then ") || "without interventions", onclick: () => this.switchTo(list) },
        depth ? `${"└".padStart(depth, " ")} ` : "", last ? `${last.text} @ ${last.after}` : "as planned");
    }));
  }

  async switchTo(list) {
    const at = list.length ? parseInt(list[list.length - 1], 10) + 1 : 0;
    const run = { ...this.run, do: list, at };
    if (await this.show(run)) this.onAddress(run, true);
  }
}

// Places of drawn nodes from the address: `x.y` in hundredths.
function drawnPlaces(text) {
  if (!text) return null;
  const places = text.split("_").map((one) => one.split(".").map((number) => Number(number) / 100));
  return places.every((one) => one.length === 2 && one.every(Number.isFinite)) ? places : null;
}
