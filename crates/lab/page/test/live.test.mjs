// Tests of the Live view's logic that needs no browser: `node --test crates/lab/page/test`.

import assert from "node:assert/strict";
import test from "node:test";
import { ago, condition, duration, ranked } from "../live.js";

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
