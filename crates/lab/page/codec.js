// The text of a run, as it stands after `#` in the address: the same keys that the server reads. Pure functions, so that
// they can be tested without a browser.

// Keys that may be repeated; all others have one value.
const LISTS = new Set(["crash", "recover", "join", "retire", "cut", "heal", "partition", "cheat", "p"]);

// From text to an object. Interventions become the list `do`, the position becomes the number `at`.
export function parse(text) {
  const run = { do: [] };
  for (const pair of text.replace(/^#/, "").split("&")) {
    if (!pair) continue;
    const cut = pair.indexOf("=");
    const key = decode(cut < 0 ? pair : pair.slice(0, cut));
    const value = cut < 0 ? "" : decode(pair.slice(cut + 1));
    if (value === "") continue;
    if (key === "do") run.do.push(...value.split(";"));
    else if (key === "at") run.at = Math.max(0, parseInt(value, 10) || 0);
    else if (LISTS.has(key)) (run[key] ??= []).push(value);
    else run[key] = value;
  }
  return run;
}

// The opposite. `page` keeps what only the page reads: the position, the lesson, places of drawn nodes.
export function format(run, page = true) {
  const pairs = [];
  const add = (key, value) => pairs.push(`${key}=${encode(value)}`);
  if (run.a) add("a", run.a);
  for (const [key, value] of Object.entries(run)) {
    if (["a", "do", "at", "lesson", "view", "opened", "with"].includes(key) || value == null || value === "") continue;
    for (const one of [].concat(value)) add(key, one);
  }
  if (run.do?.length) add("do", run.do.join(";"));
  if (page) for (const key of ["opened", "lesson", "view", "with", "at"]) if (run[key]) add(key, String(run[key]));
  return pairs.join("&");
}

// What both sides understand without escapes stays readable.
function encode(text) {
  return encodeURIComponent(text).replace(/%(40|3A|3B|2C|2F)/g, decodeURIComponent);
}

// The server reads forms, where a plus is a space.
function decode(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

// The same run with one more intervention after `after` events. Those that come later are left behind: they belong to
// the branch that is left.
export function intervene(run, after, action) {
  const kept = (run.do ?? []).filter((one) => parseInt(one, 10) <= after);
  return { ...run, do: [...kept, `${after}:${action}`] };
}

// Branches as a tree: for each list of interventions its depth, and the one it grew from. The longest list of which this
// one is a continuation is its parent.
export function tree(lists) {
  const isPrefix = (short, long) => short.length < long.length && short.every((one, at) => one === long[at]);
  const order = lists.map((list, at) => ({ list, at })).sort((a, b) => compare(a.list, b.list));
  const found = [];
  for (const { list, at } of order) {
    const parents = found.filter((other) => isPrefix(other.list, list));
    const parent = parents.sort((a, b) => b.list.length - a.list.length)[0];
    found.push({ list, at, parent: parent?.at ?? -1, depth: parent ? parent.depth + 1 : 0 });
  }
  return found;
}

function compare(a, b) {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] !== b[at]) return parseInt(a[at], 10) - parseInt(b[at], 10) || (a[at] < b[at] ? -1 : 1);
  }
  return a.length - b.length;
}

// An intervention in words.
export function describe(text, labels) {
  const [after, action, what = ""] = text.split(":");
  const name = (at) => labels?.[at] ?? at;
  const ends = (between) => what.split("-").map(name).join(between);
  const words = {
    crash: () => `crash ${name(what)}`,
    revive: () => `revive ${name(what)}`,
    start: () => `start ${name(what)}`,
    cut: () => `cut ${ends("–")}`,
    heal: () => (what === "all" ? "heal all" : `heal ${ends("–")}`),
    split: () => `split ${what}`,
    drop: () => "drop a message",
    delay: () => `delay a message by ${what.split("+")[1]}`,
    duplicate: () => "duplicate a message",
    deliver: () => "deliver a message now",
  };
  return { after: parseInt(after, 10), text: (words[action] ?? (() => text))() };
}
