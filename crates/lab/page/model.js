// A run as the page knows it: the state after any number of events, messages in flight, causes. Pure functions of the
// timeline that the server sent; stepping back is as exact as stepping forward because both fold the same events.

const STRIDE = 200; // events between two kept states
const SPREAD = 0.7; // the part of a tick in which its events are shown
const LONGEST_GAP = 6; // idle ticks are shortened to this

export class Model {
  constructor(timeline) {
    this.timeline = timeline;
    this.events = timeline.events;
    this.messages = timeline.messages;
    this.length = this.events.length;
    this.times = displayTimes(this.events);
    this.end = this.length ? this.times[this.length - 1] + 0.5 : 1;
    this.kept = [initial(timeline)];
    this.previous = previousOnNode(this.events, timeline.labels.length);
  }

  // The state after the first `count` events.
  state(count) {
    count = Math.max(0, Math.min(this.length, count));
    const slot = Math.min(Math.floor(count / STRIDE), this.kept.length - 1);
    let state = this.kept[slot];
    for (let at = slot * STRIDE; at < count; at++) {
      state = after(state, this.events[at], this.messages);
      if ((at + 1) % STRIDE === 0 && this.kept.length === (at + 1) / STRIDE) this.kept.push(state);
    }
    return state;
  }

  // How many events have happened at a time.
  countAt(time) {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The time at which `count` events have just happened.
  timeOf(count) {
    return count > 0 ? this.times[Math.min(count, this.length) - 1] : -0.3;
  }

  // Messages that are in flight after `count` events.
  inFlight(count) {
    if (this.flightsOf === count) return this.flights;
    const flights = [];
    for (let at = 0; at < this.messages.length; at++) {
      const message = this.messages[at];
      if (message.s < count && (message.a == null || message.a >= count)) flights.push(at);
    }
    this.flightsOf = count;
    this.flights = flights;
    return flights;
  }

  // How far a message has come at a time, from 0 to 1. One that never arrives stops shortly before its receiver.
  progress(message, time) {
    const sent = this.times[message.s];
    const arrives = message.a == null ? sent + 1.2 : this.times[message.a];
    const part = arrives > sent ? (time - sent) / (arrives - sent) : 1;
    return Math.max(0, Math.min(message.a == null ? 0.85 : 1, part));
  }

  // The events that an event depends on, and those that depend on it.
  causality(selected) {
    const past = new Set();
    const stack = [selected];
    while (stack.length) {
      const at = stack.pop();
      for (const before of [this.previous[at], this.events[at].c ?? -1]) {
        if (before >= 0 && !past.has(before)) {
          past.add(before);
          stack.push(before);
        }
      }
    }
    const future = new Set();
    for (let at = selected + 1; at < this.length; at++) {
      const causes = [this.previous[at], this.events[at].c ?? -1];
      if (causes.some((before) => before === selected || future.has(before))) future.add(at);
    }
    return { past, future };
  }
}

function initial(timeline) {
  const absent = new Set(timeline.absent);
  const vars = Object.fromEntries(timeline.initial);
  const nodes = timeline.labels.map((_, at) => ({ role: absent.has(at) ? "down" : "idle", leader: -1, vars }));
  return {
    count: 0,
    nodes,
    counts: timeline.kinds.map(() => 0),
    lost: 0,
    leaders: 0,
    conflict: false,
    agreed: false,
    cuts: new Set(),
    last: null,
  };
}

// The state after one more event. Unchanged parts are shared.
function after(state, event, messages) {
  const next = { ...state, count: state.count + 1, last: event };
  if (event.r !== undefined || event.l !== undefined || event.v) {
    const node = { ...state.nodes[event.n] };
    if (event.r !== undefined) node.role = event.r;
    if (event.l !== undefined) node.leader = event.l;
    if (event.v) {
      node.vars = { ...node.vars, ...event.v };
      for (const [name, value] of Object.entries(event.v)) if (value === "") delete node.vars[name];
    }
    next.nodes = state.nodes.slice();
    next.nodes[event.n] = node;
  }
  if (event.s) {
    next.counts = state.counts.slice();
    for (let at = event.s[0]; at < event.s[0] + event.s[1]; at++) next.counts[messages[at].k]++;
  }
  if (event.k === "lost") next.lost = state.lost + 1;
  if (event.p) [next.leaders, next.conflict, next.agreed] = event.p;
  if (event.k === "cut" || event.k === "heal") {
    next.cuts = new Set(state.cuts);
    const link = linkName(event.n, event.o);
    if (event.k === "cut") next.cuts.add(link);
    else next.cuts.delete(link);
  }
  return next;
}

export function linkName(a, b) {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

// When each event is shown, in ticks: those of one tick one after the other, long idle times shortened.
function displayTimes(events) {
  const times = new Float64Array(events.length);
  let shown = 0;
  for (let first = 0; first < events.length; ) {
    const tick = events[first].t;
    let end = first;
    while (end < events.length && events[end].t === tick) end++;
    if (first > 0) shown += Math.min(tick - events[first - 1].t, LONGEST_GAP);
    for (let at = first; at < end; at++) times[at] = shown + (SPREAD * (at - first)) / (end - first);
    first = end;
  }
  return times;
}

// The last event of the same node before each event.
function previousOnNode(events, nodes) {
  const last = new Int32Array(nodes).fill(-1);
  return Int32Array.from(events, (event, at) => {
    const before = last[event.n];
    last[event.n] = at;
    return before;
  });
}
