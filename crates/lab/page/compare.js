// Two to four algorithms on the same network, in step; and charts over the number of nodes.

import { h, replace, say } from "./dom.js";
import * as api from "./api.js";
import { format } from "./codec.js";
import { Model } from "./model.js";
import { NetworkView } from "./network.js";
import { Counters, leading } from "./panels.js";
import { draw as drawChart } from "./chart.js";
import { colourOf } from "./colours.js";

const DEFAULTS = { ring: ["chang-roberts", "franklin", "peterson"], complete: ["bully", "improved-bully", "campaigner"], other: ["echo-extinction", "aefa"] };
const MAX_COMPARED = 4;

export class Compare {
  constructor(root, catalogue, onAddress) {
    this.root = root;
    this.catalogue = catalogue;
    this.onAddress = onAddress;
    this.time = 0;
    this.build();
  }

  build() {
    this.choice = h("fieldset", { class: "choice" });
    this.panes = h("div", { class: "compared" });
    this.scrub = h("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Position in time", oninput: () => this.go((Number(this.scrub.value) / 1000) * this.end) });
    this.play = h("button", { type: "button", class: "strong", onclick: () => this.toggle() }, "Play");
    this.position = h("output", {});
    this.chartPane = h("div", { class: "chart-pane" });
    this.value = h("select", { id: "chart-value", onchange: () => this.redrawChart() }, [["messages", "messages"], ["bytes", "bytes"], ["time", "ticks"]].map(([value, text]) => h("option", { value }, text)));
    this.upTo = h("input", { type: "number", id: "chart-max", min: 4, max: 4096, value: 64 });
    this.seeds = h("input", { type: "number", id: "chart-seeds", min: 1, max: 20, value: 1 });
    this.progress = h("progress", { max: 1, value: 0, "aria-label": "Progress of the chart", hidden: true });
    this.chartButton = h("button", { type: "button", class: "strong", onclick: () => this.chart() }, "Draw the chart");
    this.problem = h("p", { class: "problem", role: "alert" });
    replace(this.root,
      h("div", { class: "what" }, this.choice, this.problem),
      this.panes,
      h("div", { class: "transport" }, h("div", { class: "buttons" }, this.play), this.scrub, this.position),
      h("section", { class: "chart-section", "aria-label": "Chart" },
        h("div", { class: "row" }, h("label", { for: "chart-value" }, "Show ", this.value), h("label", { for: "chart-max" }, "up to ", this.upTo, " nodes"), h("label", { for: "chart-seeds" }, "mean of ", this.seeds, " elections"), this.chartButton, this.progress),
        this.chartPane));
  }

  // Compares on the network of a run.
  async show(run) {
    const about = this.catalogue.find((one) => one.name === run.a);
    const network = about?.topologies[0] ?? "ring";
    this.base = run;
    const fitting = this.catalogue.filter((one) => one.topologies.includes(run.topology ?? network) || (one.topologies[0] === network));
    const wanted = (run.with ?? "").split(",").filter(Boolean);
    const usual = (DEFAULTS[network] ?? DEFAULTS.other).filter((name) => fitting.some((one) => one.name === name));
    const names = (wanted.length ? wanted : [run.a, ...usual.filter((name) => name !== run.a)]).slice(0, 3);
    replace(this.choice, h("legend", {}, `On ${run.topology ?? network}, ${run.n ?? 8} nodes:`), fitting.map((one) => {
      const box = h("input", { type: "checkbox", id: `with-${one.name}`, value: one.name, checked: names.includes(one.name), onchange: () => this.choose() });
      return h("label", { for: `with-${one.name}`, title: one.summary }, box, one.name);
    }));
    await this.choose();
  }

  names() {
    return [...this.choice.querySelectorAll("input:checked")].map((box) => box.value).slice(0, MAX_COMPARED);
  }

  runOf(name) {
    const isBase = name === this.base.a;
    const { do: _, at: __, lesson: ___, opened: ____, with: _____, ...rest } = this.base;
    return { ...rest, a: name, p: isBase ? rest.p : undefined, do: [] };
  }

  async choose() {
    const names = this.names();
    for (const box of this.choice.querySelectorAll("input")) box.disabled = !box.checked && names.length >= MAX_COMPARED;
    this.onAddress({ ...this.base, with: names.join(",") });
    this.stop();
    this.problem.textContent = "";
    const found = [];
    for (const name of names) {
      try {
        found.push({ name, timeline: await api.simulate(format(this.runOf(name), false)) });
      } catch (error) {
        this.problem.textContent = `${name}: ${error.message}`;
      }
    }
    this.panes.replaceChildren();
    this.shown = found.filter(({ timeline }) => timeline.layout.shape !== "density").map(({ name, timeline }, at) => this.pane(name, timeline, at));
    this.end = Math.max(1, ...this.shown.map(({ model }) => model.end));
    this.go(0);
  }

  pane(name, timeline, at) {
    const model = new Model(timeline);
    const net = h("div", { class: "pane network small" });
    const status = h("p", { class: "status" });
    const counters = h("div", { class: "mini" });
    const element = h("article", { class: "one", "aria-label": name }, h("h2", {}, h("span", { class: "dot" }), name), net, status, counters);
    element.querySelector(".dot").style.background = colourOf(at);
    this.panes.append(element);
    const view = new NetworkView(net);
    const table = new Counters(counters, { onKind() {}, onEvents() {} });
    view.show(model);
    table.show(model);
    return { name, model, view, table, status };
  }

  go(time) {
    this.time = Math.max(0, Math.min(this.end, time));
    for (const { model, view, table, status } of this.shown ?? []) {
      const count = model.countAt(this.time);
      const state = model.state(count);
      view.draw(state, Math.min(this.time, model.end));
      table.draw(state, null);
      const { text, more } = leading(model, state);
      say(status, `${text}${more ? `, ${more}` : ""}`);
    }
    this.scrub.value = String(Math.round((1000 * this.time) / this.end));
    say(this.position, `tick ${Math.floor(this.time)} of ${Math.ceil(this.end)}`);
  }

  toggle() {
    if (this.request) return this.stop();
    if (this.time >= this.end) this.time = 0;
    let before = null;
    const frame = (now) => {
      if (before != null) this.go(this.time + (Math.min(100, now - before) / 1000) * Math.max(1, this.end / 30));
      before = now;
      if (this.time >= this.end) return this.stop();
      this.request = requestAnimationFrame(frame);
    };
    this.request = requestAnimationFrame(frame);
    say(this.play, "Pause");
  }

  stop() {
    cancelAnimationFrame(this.request);
    this.request = null;
    say(this.play, "Play");
  }

  async chart() {
    this.abort?.abort();
    this.abort = new AbortController();
    const names = this.names();
    const most = Math.max(4, Math.min(4096, Number(this.upTo.value) || 64));
    const sizes = sizesUpTo(most);
    const runs = names.map((name) => {
      const { n: _, seed: __, crash: ___, recover: ____, initiators, ...run } = this.runOf(name);
      // Positions of one size mean nothing in another.
      return format({ ...run, ids: run.ids?.includes(",") ? undefined : run.ids, initiators: initiators === "all" ? "all" : undefined, topology: run.topology?.startsWith("links:") ? undefined : run.topology }, false);
    });
    this.points = [];
    this.curveNames = names;
    this.progress.hidden = false;
    this.problem.textContent = "";
    const all = sizes.length * runs.length;
    let done = 0;
    try {
      await api.chart({ runs, sizes, seeds: Number(this.seeds.value) || 1 }, (name, data) => {
        if (name === "point") this.points.push(data);
        if (name === "failed") this.problem.textContent = `${names[data[0]]} with ${data[1]} nodes: ${data[2].message}`;
        this.progress.value = ++done / all;
        this.redrawChart();
      }, this.abort.signal);
    } catch (error) {
      if (error.name !== "AbortError") this.problem.textContent = error.message;
    }
    this.progress.hidden = true;
  }

  redrawChart() {
    if (!this.points?.length) return;
    const words = { messages: "messages", bytes: "bytes", time: "ticks" };
    const dashes = this.points.some((point) => point.expected != null) && this.value.value === "messages";
    replace(this.chartPane, drawChart(this.points, this.curveNames, this.value.value, words[this.value.value]), h("p", { class: "soft" }, dashes ? "Lines are measured, dashed lines are the formula." : "Measured."));
  }
}

// A dozen sizes, evenly spaced.
export function sizesUpTo(most) {
  const sizes = [];
  for (let at = 1; at <= 12; at++) sizes.push(Math.max(2, Math.round((most * at) / 12)));
  return [...new Set(sizes)];
}
