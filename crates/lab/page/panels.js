// What stands beside the network: who leads, counters against the formula, the variables of a node, messages in flight.

import { h, replace, say } from "./dom.js";
import { swatch } from "./colours.js";

const ROLE_WORDS = { idle: "has not taken part", candidate: "takes part", passive: "passive", follower: "follower", leader: "leader", down: "down" };

// Who leads, in one line that can be read from the last row.
export function leading(model, state) {
  const { labels, members, violation } = model.timeline;
  const nodes = state.nodes.slice(0, members);
  const leaders = nodes.flatMap((node, at) => (node.role === "leader" ? [labels[at]] : []));
  const live = nodes.filter((node) => node.role !== "down").length;
  const following = nodes.filter((node) => node.leader >= 0 && nodes[node.leader]?.role === "leader").length;
  let text = "Nobody leads";
  let tone = "none";
  if (leaders.length === 1) {
    text = `★ Node ${leaders[0]} leads`;
    tone = state.agreed ? "good" : "open";
  } else if (leaders.length > 1) {
    text = `★ ${leaders.length} leaders: ${leaders.slice(0, 5).join(", ")}`;
    tone = state.conflict ? "bad" : "open";
  }
  let more = "";
  // A density knows who leads, and of the others only at the end whether all agree.
  const isDense = Boolean(model.density);
  const isCounted = !isDense || (model.density.crashes.length === 0 && model.timeline.absent.length === 0);
  if (leaders.length === 1 && isDense) more = state.agreed ? `all ${isCounted ? `${live} ` : ""}live nodes agree` : "";
  else if (leaders.length === 1) more = state.agreed ? `all ${live} live nodes agree` : `${following} of ${live} live nodes know`;
  else if (leaders.length > 1) more = state.conflict ? "two lead in the same epoch" : "in different epochs";
  else if (state.count === 0) more = "the election has not begun";
  else if (state.count < model.length) more = isDense ? "" : underWay(model, nodes, state.count);
  else if (model.timeline.outcome.estimate != null) more = `every node estimates ${model.timeline.outcome.estimate} nodes`;
  else more = rest(model);
  return { text, more, tone, violation };
}

const messages = (count) => `${count} message${count === 1 ? "" : "s"}`;

function underWay(model, nodes, count) {
  const flying = model.inFlight(count).length;
  if (flying) return `${messages(flying)} on the way`;
  return nodes.some(({ role }) => role !== "idle" && role !== "down") ? "the election is on" : "the election has not begun";
}

// What the last event leaves to happen.
function rest(model) {
  const { timeline } = model;
  const { total, events, outcome, violation, waiting } = timeline;
  if (violation?.repeats_from != null) return `and it repeats from event ${violation.repeats_from + 1} on`;
  if (model.density) return outcome.hung ? "and the run ends before the election does" : "";
  if (total > events.length) return "and the rest of the run is not shown";
  const flying = model.inFlight(model.length).length;
  if (flying) return `${messages(flying)} still on the way where the run ends`;
  if (outcome.hung) return "and the run ends before the election does";
  if (waiting) return `${waiting} node${waiting === 1 ? "" : "s"} still waiting where the run ends`;
  return timeline.may_go_on ? "and the run ends here" : "and nothing is left to happen";
}

export class Counters {
  // `onKind(kind)` highlights a kind, `onEvents(kind)` lists its messages.
  constructor(pane, { onKind, onEvents }) {
    this.pane = pane;
    this.onKind = onKind;
    this.onEvents = onEvents;
  }

  show(model) {
    this.model = model;
    const { kinds, expected, outcome } = model.timeline;
    const finals = outcome.by_kind;
    this.most = Math.max(1, ...finals, ...(expected ?? []));
    const used = kinds.map((_, kind) => kind).filter((kind) => finals[kind] > 0 || expected?.[kind] > 0);
    this.rows = (used.length ? used : kinds.map((_, kind) => kind)).map((kind) => this.row(kind, kinds[kind], expected?.[kind]));
    this.total = this.row(-1, "total", expected?.reduce((sum, one) => sum + one, 0));
    const formula = expected ? "formula" : "";
    replace(
      this.pane,
      h("table", { class: "counters" },
        h("caption", { class: "hidden" }, "Messages by kind"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "messages"), h("th", {}, ""), h("th", { scope: "col", class: "number" }, "sent"), h("th", { scope: "col", class: "number" }, formula))),
        h("tbody", {}, this.rows.map((row) => row.element), this.total.element)),
      (this.notes = h("p", { class: "notes" })));
  }

  row(kind, name, expected) {
    const bar = h("span", { class: "bar" });
    const goal = expected == null ? null : h("span", { class: "goal" });
    const number = h("button", { class: "plain number", type: "button", title: "Show the events that this number counts", onclick: () => this.onEvents(kind) }, "0");
    const wanted = h("td", { class: "number soft" }, expected == null ? "" : String(expected));
    const label = kind < 0 ? h("span", {}, name) : h("button", { class: "plain kind", type: "button", title: "Highlight this kind", "aria-pressed": "false", onclick: () => this.onKind(kind) }, swatch(kind), name);
    const element = h("tr", { class: kind < 0 ? "total" : "", "data-kind": name }, h("th", { scope: "row" }, label), h("td", { class: "bars" }, kind < 0 ? "" : [bar, goal]), h("td", { class: "number" }, number), wanted);
    if (goal) goal.style.left = `${(100 * expected) / this.most}%`;
    return { kind, element, bar, number, wanted, expected, label };
  }

  draw(state, highlighted) {
    const { outcome } = this.model.timeline;
    let sum = 0;
    state.counts.forEach((count) => (sum += count));
    for (const row of [...this.rows, this.total]) {
      const value = row.kind < 0 ? sum : state.counts[row.kind];
      say(row.number, String(value));
      row.bar.style.width = `${(100 * value) / this.most}%`;
      row.bar.style.background = row.kind >= 0 ? `var(--kind-${row.kind % 8})` : "";
      const isEqual = row.expected != null && value === row.expected;
      say(row.wanted, row.expected == null ? "" : `${row.expected}${isEqual ? " ✓" : ""}`);
      row.wanted.classList.toggle("equal", isEqual);
      if (row.kind >= 0) row.label.setAttribute("aria-pressed", String(highlighted === row.kind));
    }
    const notes = [];
    if (state.lost) notes.push(`${state.lost} not delivered`);
    const all = outcome.by_kind.reduce((one, other) => one + other, 0);
    if (this.model.timeline.total > this.model.length) notes.push(`${all.toLocaleString("en")} in the whole run`);
    if (state.count === this.model.length && outcome.agreed != null) notes.push(`agreed at tick ${outcome.agreed}`);
    if (outcome.bytes && state.count === this.model.length) notes.push(`${outcome.bytes} bytes`);
    say(this.notes, notes.join(" · "));
  }
}

// The variables of a node; those that the last event changed are marked.
export class Inspector {
  constructor(pane) {
    this.pane = pane;
  }

  draw(model, state, at, isPinned) {
    if (at == null) {
      const key = "none";
      if (this.key !== key) replace(this.pane, h("p", { class: "hint" }, "Point at a node to see its variables. Click one to break it."));
      this.key = key;
      this.node = null;
      return;
    }
    const node = state.nodes[at];
    const changed = state.last?.n === at ? state.last.v ?? {} : {};
    if (this.node === node && this.at === at && this.count === state.count && this.isPinned === isPinned) return;
    Object.assign(this, { node, at, count: state.count, isPinned, key: at });
    const { labels } = model.timeline;
    const names = node.leader >= 0 ? `names ${labels[node.leader]}` : "names nobody";
    replace(
      this.pane,
      h("h3", {}, `Node ${labels[at]}`, h("span", { class: "soft" }, ` ${ROLE_WORDS[node.role]} · ${names}${isPinned ? " · pinned" : ""}`)),
      h("dl", { class: "variables", "data-node": at },
        Object.entries(node.vars).map(([name, value]) => [
          h("dt", { class: name in changed ? "changed" : "" }, name),
          h("dd", { class: name in changed ? "changed" : "" }, value || "—"),
        ])));
  }
}

const MAX_LISTED = 40;

// Messages in flight, as buttons: what the canvas shows, for the keyboard.
export class Flights {
  constructor(pane, onMessage) {
    this.pane = pane;
    this.onMessage = onMessage;
  }

  draw(model, state) {
    if (this.model === model && this.count === state.count) return;
    this.model = model;
    this.count = state.count;
    const flights = model.inFlight(state.count);
    const { labels, kinds } = model.timeline;
    const button = (index) => {
      const { f, o, k, x } = model.messages[index];
      const text = `${kinds[k]}${x ? ` ${x}` : ""}, ${labels[f]} → ${labels[o]}`;
      return h("li", {}, h("button", { type: "button", class: "plain flight", "data-message": index, title: "Drop, delay, duplicate or deliver it", onclick: (event) => {
        const box = event.currentTarget.getBoundingClientRect();
        this.onMessage(index, { x: box.left, y: box.bottom, from: event.currentTarget });
      } }, swatch(k), text));
    };
    replace(
      this.pane,
      h("h3", {}, "In flight ", h("span", { class: "soft" }, flights.length ? String(flights.length) : "nothing")),
      flights.length ? h("ul", { class: "flights-list" }, flights.slice(0, MAX_LISTED).map(button)) : null);
  }
}
