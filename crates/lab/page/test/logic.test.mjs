// Tests of the page's logic that needs no browser: `node --test crates/lab/page/test`.

import assert from "node:assert/strict";
import test from "node:test";
import { describe, format, intervene, parse, tree } from "../codec.js";
import { Model } from "../model.js";
import { along, distanceToLine, nearest } from "../geometry.js";
import { check, toggle, without } from "../editor.js";
import { ticks } from "../chart.js";
import { sizesUpTo } from "../compare.js";
import { DensityModel } from "../density.js";
import { leading } from "../panels.js";

test("the text of a run is read and written", () => {
  const text = "a=bully&n=8&crash=7@0&crash=6@3&p=T%3D2&do=4:crash:5;9:delay:3.1%2B5&at=12";
  const run = parse(text);
  assert.deepEqual(run.do, ["4:crash:5", "9:delay:3.1+5"]);
  assert.deepEqual(run.crash, ["7@0", "6@3"]);
  assert.equal(run.at, 12);
  assert.equal(format(run), text);
  assert.equal(format(run, false).includes("at="), false);
  assert.deepEqual(parse(format(run)), run);
  assert.deepEqual(parse("#a=%zz"), { do: [], a: "%zz" });
});

test("an intervention leaves later ones behind", () => {
  const run = parse("a=bully&do=4:crash:5;9:start:2");
  assert.deepEqual(intervene(run, 6, "crash:1").do, ["4:crash:5", "6:crash:1"]);
  assert.deepEqual(intervene(run, 9, "crash:1").do, ["4:crash:5", "9:start:2", "9:crash:1"]);
});

test("branches are a tree", () => {
  const found = tree([[], ["4:crash:5"], ["4:crash:5", "9:start:2"], ["2:drop:1.0"]]);
  const shown = found.map(({ list, depth, parent }) => [list.length ? list[list.length - 1] : "", depth, parent]);
  assert.deepEqual(shown, [["", 0, -1], ["2:drop:1.0", 1, 0], ["4:crash:5", 1, 0], ["9:start:2", 2, 1]]);
  assert.deepEqual(describe("12:cut:0-1", ["a", "b"]), { after: 12, text: "cut a–b" });
});

const timeline = {
  labels: ["1", "2"],
  absent: [],
  initial: [["stage", "idle"]],
  kinds: ["ask"],
  events: [
    { t: 0, n: 0, k: "start", s: [0, 1], r: "candidate", v: { stage: "asking" }, w: "" },
    { t: 1, n: 1, k: "receive", c: 0, m: 0, r: "leader", l: 1, p: [1, false, false], v: { stage: "leading", round: "1" }, w: "" },
    { t: 1, n: 1, k: "crash", r: "down", l: -1, p: [0, false, false], v: { stage: "idle", round: "" }, w: "" },
  ],
  messages: [{ k: 0, x: "", f: 0, o: 1, s: 0, i: 0, a: 1 }],
};

test("stepping back restores the exact former state", () => {
  const model = new Model(timeline);
  const forward = [0, 1, 2, 3].map((count) => structuredClone(model.state(count)));
  for (const count of [3, 1, 2, 0, 3]) assert.deepEqual(structuredClone(model.state(count)), forward[count]);
  assert.deepEqual(forward[2].nodes[1], { role: "leader", leader: 1, vars: { stage: "leading", round: "1" } });
  assert.deepEqual(forward[3].nodes[1].vars, { stage: "idle" }, "a variable without a value is gone");
  assert.deepEqual([forward[0].counts, forward[1].counts], [[0], [1]]);
});

test("kept states change nothing, whatever the order of visits", () => {
  const events = Array.from({ length: 950 }, (_, at) => ({ t: at, n: at % 2, k: "timer", v: { stage: String(at) }, w: "" }));
  const long = { ...timeline, events, messages: [] };
  const [visited, fresh] = [new Model(long), new Model(long)];
  for (const count of [950, 3, 401, 399, 200, 800]) visited.state(count);
  for (const count of [0, 199, 200, 201, 400, 949]) assert.deepEqual(structuredClone(visited.state(count)), structuredClone(fresh.state(count)));
});

test("messages are in flight between their events", () => {
  const model = new Model(timeline);
  assert.deepEqual([0, 1, 2].map((count) => model.inFlight(count).length), [0, 1, 0]);
  assert.equal(model.progress(timeline.messages[0], model.times[1]), 1);
  assert.ok(model.times[1] < model.times[2], "events of one tick follow each other");
  assert.equal(model.countAt(model.timeOf(2)), 2);
});

test("an event has a past and a future", () => {
  const { past, future } = new Model(timeline).causality(1);
  assert.deepEqual([[...past], [...future]], [[0], [2]]);
});

test("geometry", () => {
  const [from, to] = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.deepEqual(along(from, to, 0.5, 2), { x: 5, y: 2 });
  assert.equal(nearest([from, to], 9, 1, 3), to);
  assert.equal(nearest([from, to], 5, 0, 3), null);
  assert.equal(distanceToLine(from, to, 5, 4), 4);
});

test("the editor's networks", () => {
  assert.deepEqual(toggle([[0, 1]], 1, 0), []);
  assert.deepEqual(toggle([[0, 1]], 2, 0), [[0, 1], [0, 2]]);
  assert.deepEqual(without([[0, 1], [1, 2], [2, 3]], 1), [[1, 2]]);
  assert.match(check([{}, {}, {}], [[0, 1]]), /Node 2 is not connected/);
  assert.equal(check([{}, {}], [[0, 1]]), null);
});

test("charts have round scales and a dozen sizes", () => {
  assert.deepEqual(ticks(44), [0, 10, 20, 30, 40, 50]);
  assert.ok(ticks(7)[ticks(7).length - 1] >= 7);
  assert.deepEqual(sizesUpTo(12), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

test("the end of a run says what is left of it", () => {
  const ends = (change, events = timeline.events.slice(0, 1)) => {
    const model = new Model({ ...timeline, members: 2, total: events.length, waiting: 0, may_go_on: false, outcome: { hung: false }, events, messages: [{ ...timeline.messages[0], a: 0 }], ...change });
    return leading(model, model.state(model.length)).more;
  };
  assert.equal(ends({}), "and nothing is left to happen");
  assert.equal(ends({ messages: [{ k: 0, x: "", f: 0, o: 1, s: 0, i: 0 }] }), "1 message still on the way where the run ends");
  assert.equal(ends({ waiting: 1 }), "1 node still waiting where the run ends");
  assert.equal(ends({ outcome: { hung: true } }), "and the run ends before the election does");
  assert.equal(ends({ may_go_on: true }), "and the run ends here");
  assert.equal(ends({ total: 9 }), "and the rest of the run is not shown");
  assert.equal(ends({ violation: { repeats_from: 3 } }), "and it repeats from event 4 on");
  assert.equal(ends({ outcome: { hung: false, estimate: 6 } }), "every node estimates 6 nodes");
});

test("a large run knows who leads, and not who knows it", () => {
  const density = { nodes: 9, sectors: 3, ticks: 1, bins: [[1], [1], [1]], kinds: [[1], [1], [1]], leads: [[0, 4]], crashes: [] };
  const large = { labels: Array(9).fill("x"), members: 9, absent: [], kinds: ["ask"], total: 99, events: [], outcome: { hung: true, leader: 4, by_kind: [3], agreement: true } };
  const says = (count, change) => {
    const model = new DensityModel({ ...large, density: { ...density, ...change } });
    const { text, more } = leading(model, model.state(count));
    return [text, more];
  };
  assert.deepEqual(says(1, {}), ["★ Node x leads", ""]);
  assert.deepEqual(says(3, {}), ["★ Node x leads", "all 9 live nodes agree"]);
  assert.deepEqual(says(2, { crashes: [[1, 4]] }), ["Nobody leads", ""]);
  assert.deepEqual(says(3, { crashes: [[1, 5]] }), ["★ Node x leads", "all live nodes agree"]);
});
