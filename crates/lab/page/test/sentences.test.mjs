// What the page says of a run is true of it: over the timelines of the file that TIMELINES names. A Rust test writes it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Model } from "../model.js";
import { leading } from "../panels.js";

const file = process.env.TIMELINES;
const runs = file ? readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
const options = { skip: file ? false : "TIMELINES names no file; `cargo test -p hustings-lab --test logic` does" };

test("nothing is left to happen where that is said", options, () => {
  const said = { nothing: 0, flying: 0, waiting: 0 };
  for (const { text, more_happens: moreHappens, timeline } of runs) {
    const model = new Model(timeline);
    const { more } = leading(model, model.state(model.length));
    if (more.includes("nothing is left")) {
      said.nothing++;
      assert.ok(!moreHappens, `${text}: more happens after “${more}”`);
    }
    if (more.includes("on the way where")) said.flying++;
    if (more.includes("waiting where")) said.waiting++;
  }
  for (const [which, times] of Object.entries(said)) assert.ok(times > 0, `no run is said to end so: ${which}`);
});

test("who leads, who knows it and what is on the way", options, () => {
  for (const { text, timeline } of runs) {
    const model = new Model(timeline);
    const stride = Math.ceil(model.length / 60) || 1;
    for (let count = 0; count <= model.length; count += stride) {
      const state = model.state(count);
      const { text: who, more } = leading(model, state);
      const nodes = state.nodes.slice(0, timeline.members);
      const live = nodes.filter(({ role }) => role !== "down");
      const leaders = nodes.flatMap(({ role }, at) => (role === "leader" ? [at] : []));
      const place = `${text}: after ${count}: ${who}, ${more}`;
      if (who.includes("Nobody leads")) assert.equal(leaders.length, 0, place);
      if (more.includes("nodes agree")) assert.ok(live.every(({ leader }) => leader === leaders[0]) && more.includes(`all ${live.length} `), place);
      if (more === "the election has not begun") assert.ok(nodes.every(({ role }) => role === "idle" || role === "down"), place);
      if (more === "the election is on") assert.ok(nodes.some(({ role }) => role !== "idle" && role !== "down"), place);
      if (/^\d+ messages? /.test(more)) assert.equal(parseInt(more, 10), model.inFlight(count).length, place);
      if (more.startsWith("every node estimates")) assert.ok(timeline.outcome.estimate != null && count === model.length, place);
    }
  }
});
