// Tests of the Live view's logic that needs no browser: `node --test crates/lab/page/test`.

import assert from "node:assert/strict";
import test from "node:test";
import { sentence, since, summary } from "../failover.js";
import { ago, condition, duration, range, ranked, reach } from "../live.js";

const member = (name, priority, more = {}) => ({ name, id: name.charCodeAt(0), priority, health: 100, up: true, ...more });
const leader = { holder: "b", current: true, token: 9 };

test("the leader comes first, the others by rank", () => {
  const members = [member("a", 1), member("b", 0), member("c", 3, { health: 50 }), member("d", 3)];
  assert.deepEqual(ranked(members, leader).map((one) => one.name), ["b", "d", "c", "a"]);
  assert.deepEqual(ranked(members, { ...leader, current: false }).map((one) => one.name), ["d", "c", "a", "b"]);
});

test("what happened to a process counts more than what others believe", () => {
  const words = (process, more) => condition(member("b", 1, more), leader, process).words;
  assert.equal(words({ condition: "running", cut: false }), "leads");
  assert.equal(words({ condition: "killed", cut: false }), "killed");
  assert.equal(words({ condition: "frozen", cut: true }), "frozen");
  assert.equal(words({ condition: "running", cut: true }), "cut off");
  assert.equal(condition(member("a", 1), leader).words, "follows b");
  assert.equal(condition(member("a", 1, { up: false }), leader).role, "down");
  assert.equal(condition(member("a", 1), { ...leader, current: false }).words, "knows no leader");
});

test("times read well", () => {
  assert.deepEqual([0.25, 42.4, 999.4, 1500].map(duration), ["0.3 ms", "42 ms", "999 ms", "1.50 s"]);
  assert.deepEqual([900, 61_000, 7_200_000, 200_000_000].map(ago), ["0 s", "1 min", "2 h", "2 d"]);
});

test("a member says whom it sees in one short line", () => {
  const peers = ["b", "c", "d"].map((name) => ({ name, up: true }));
  const link = (peer, way, rtt_ms) => ({ peer, way, rtt_ms });
  const measured = { messages_per_second: 37.6, links: [link("b", "direct", 0.21), link("c", "direct", 0.34), link("d", "relayed", null)] };
  const says = { peers, current: true, measured };
  assert.equal(reach(says).line, "sees all, d by relay, 0.2–0.3 ms · 38 msg/s");
  assert.equal(reach(says).title, "b directly, 0.2 ms; c directly, 0.3 ms; d by relay");
  const gone = { ...says, peers: [{ name: "d", up: false }, ...peers.slice(0, 2)] };
  assert.equal(reach(gone).line, "sees all but d, 0.2–0.3 ms · 38 msg/s");
  assert.equal(reach({ peers, current: false, measured: null }).line, "sees all · no majority answers it");
  assert.deepEqual([range([]), range([0.04]), range([12.4, 0.5])], ["", "0.04 ms", "0.5–12 ms"]);
});

test("a failover is told in sentences", () => {
  assert.deepEqual([-3.21, 0, 12.34, 326.4].map(since), ["−3.2 ms", "+0.0 ms", "+12.3 ms", "+326 ms"]);
  assert.equal(sentence({ nodes: ["b"], text: "holds leader (token 9)", held: true }), "★ b: holds leader (token 9)");
  assert.equal(sentence({ nodes: ["b", "c", "d", "e", "f"], text: "connection to a closed", held: false }), "5 nodes: connection to a closed");
  const failover = { former: "a", holder: "b", took_ms: 326.4, last_sign: "message", is_exact: true };
  assert.deepEqual(summary(failover), ["326 ms", " from the last message from a until b held the office"]);
  assert.match(summary({ ...failover, last_sign: "gave-up", is_exact: false })[1], /^ from when a gave the office up until it was known that b/);
});
