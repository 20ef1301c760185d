// What is run, as one line in which every word is a control. Values are the texts that `hustings sim` takes; what is
// wrong is shown beside the control, in the server's words.

import { $, h, replace } from "./dom.js";

// The fields behind the buttons of the line.
const GROUPS = [
  { key: "ids", title: "ids", fields: [
    ["ids", "Ids", "ascending, descending, random, or a list such as 5,3,9", "the positions"],
    ["values", "Values", "rank nodes before their ids do: 3.5,1,2", "none"],
    ["best", "Best", "max or min", "max"],
    ["votes", "Votes", "voter:choice, such as 0:3,1:3", "as the algorithm says"],
    ["cheat", "Cheats", "3:rank or 3:ack; several with spaces", "nobody"],
  ] },
  { key: "initiators", title: "initiators", fields: [
    ["initiators", "Who starts", "all, none, random:2, or positions with ticks: 0,4@10", "as the algorithm says"],
    ["notice", "How a dead leader is noticed", "oracle, poll:5, heartbeat:5, term:30", "oracle: only who starts"],
    ["runs", "A new election at every change of who reaches whom", "true", "no"],
  ] },
  { key: "delay", title: "delay", fields: [
    ["delay", "Delay of messages", "unit, uniform:1-5, exponential:3, pareto:1,1.5", "unit: one tick"],
    ["unordered", "Messages may overtake each other", "true", "no"],
    ["loss", "Probability of loss", "0 to 1", "0"],
    ["duplicate", "Probability of a second delivery", "0 to 1", "0"],
    ["bandwidth", "Messages per tick in the whole network", "a number", "no limit"],
    ["medium", "Medium", "links or broadcast", "links"],
  ] },
  { key: "faults", title: "faults", fields: [
    ["crash", "Crashes", "position@tick, such as 7@0 2@15", "none"],
    ["recover", "Recoveries", "7@40", "none"],
    ["join", "Joins", "3@20", "none"],
    ["retire", "Retirements", "3@20", "none"],
    ["cut", "Cut links", "0-1@5", "none"],
    ["heal", "Repairs", "0-1@9 or all@9", "none"],
    ["partition", "Partitions", "0-3/4-7@10", "none"],
  ] },
  { key: "more", title: "seed", fields: [
    ["seed", "Seed of everything random", "a number", "0"],
    ["until", "Last tick", "a number", "100·n + 10,000"],
  ] },
];

const LISTS = new Set(["crash", "recover", "join", "retire", "cut", "heal", "partition", "cheat"]);

export class Form {
  // `onChange(run)` runs something else; `onDraw()` opens the editor of networks.
  constructor(root, catalogue, { onChange, onDraw, onAbout }) {
    this.root = root;
    this.catalogue = catalogue;
    this.onChange = onChange;
    this.onDraw = onDraw;
    this.onAbout = onAbout;
    this.run = {};
    this.build();
  }

  build() {
    const families = new Map();
    for (const one of this.catalogue) families.set(one.family, [...(families.get(one.family) ?? []), one]);
    this.algorithm = h("select", { id: "algorithm", "aria-label": "Algorithm", onchange: () => this.pick() },
      [...families].map(([family, list]) => h("optgroup", { label: family }, list.map((one) => h("option", { value: one.name }, one.name)))));
    this.nodes = h("input", { id: "nodes", type: "number", min: 1, max: 100000, "aria-label": "Number of nodes", onchange: () => this.resize() });
    this.topology = h("select", { id: "topology", "aria-label": "Topology", onchange: () => this.pickTopology() });
    this.buttons = GROUPS.map((group) => this.group(group));
    this.params = this.group({ key: "params", title: "parameters", fields: [] });
    this.problem = h("p", { id: "problem", class: "problem", role: "alert" });
    replace(this.root,
      h("span", { class: "words" }, this.algorithm, h("button", { type: "button", class: "quiet about", title: "What is this algorithm?", "aria-label": "About this algorithm", onclick: () => this.onAbout(this.about()) }, "?"), " on ", this.nodes, " nodes, ", this.topology),
      this.buttons.map((one) => one.button), this.params.button, this.problem);
    this.root.append(...this.buttons.map((one) => one.panel), this.params.panel);
  }

  about() {
    return this.catalogue.find((one) => one.name === this.run.a);
  }

  group({ key, title, fields }) {
    const id = `panel-${key}`;
    const button = h("button", { type: "button", class: "word", popovertarget: id, "aria-haspopup": "dialog" }, title);
    const panel = h("div", { id, class: "panel", popover: "auto", role: "dialog", "aria-label": title });
    panel.addEventListener("toggle", (event) => {
      if (event.newState !== "open") return;
      const box = button.getBoundingClientRect();
      panel.style.left = `${Math.max(8, Math.min(box.left, innerWidth - panel.offsetWidth - 8))}px`;
      panel.style.top = `${box.bottom + 6}px`;
    });
    const inputs = fields.map((field) => this.field(field));
    replace(panel, inputs.map((one) => one.label));
    return { key, button, panel, inputs, title };
  }

  field([key, name, help, absent]) {
    const isSwitch = help === "true";
    const input = isSwitch
      ? h("input", { type: "checkbox", id: `field-${key}`, onchange: () => this.change({ [key]: input.checked ? "true" : undefined }) })
      : h("input", { type: "text", id: `field-${key}`, placeholder: absent, spellcheck: "false", autocomplete: "off", onchange: () => this.change({ [key]: read(key, input.value) }) });
    const label = h("label", { class: isSwitch ? "switch" : "", for: `field-${key}` }, h("span", {}, name), input, isSwitch ? null : h("small", {}, help), h("small", { class: "problem", "data-for": key }));
    return { key, input, label };
  }

  // Shows a run without running it.
  show(run) {
    this.run = run;
    const about = this.about();
    this.algorithm.value = run.a ?? "";
    this.nodes.value = run.n ?? "";
    if (about) {
      const topologies = [...about.topologies];
      if (run.topology && !topologies.includes(run.topology)) topologies.push(run.topology);
      const canDraw = about.topologies.length > 1;
      replace(this.topology, topologies.map((one) => h("option", { value: one }, one.startsWith("links:") ? "drawn" : one)), canDraw ? h("option", { value: "draw" }, "draw your own…") : null);
      this.topology.value = run.topology ?? about.topologies[0];
      this.showParams(about);
    }
    for (const group of this.buttons) {
      let given = 0;
      for (const { key, input } of group.inputs) {
        const value = run[key];
        if (input.type === "checkbox") input.checked = value === "true";
        else input.value = [].concat(value ?? []).join(" ");
        if (value != null && value.length) given++;
      }
      group.button.classList.toggle("given", given > 0);
      group.button.textContent = this.caption(group, run);
    }
    this.fail(null);
  }

  // What a button says: its value, if that is short.
  caption({ key, title }, run) {
    const first = { ids: run.ids, initiators: run.initiators, delay: run.delay, more: run.seed, faults: run.crash?.join(" ") }[key];
    const text = first ? `${key === "faults" ? "crash" : title} ${first}` : title;
    return text.length > 26 ? `${text.slice(0, 25)}…` : text;
  }

  showParams(about) {
    const values = Object.fromEntries((this.run.p ?? []).map((one) => one.split(/=(.*)/s).slice(0, 2)));
    this.params.button.hidden = about.params.length === 0;
    this.params.button.classList.toggle("given", Object.keys(values).length > 0);
    replace(this.params.panel, about.params.map((one) => {
      const words = one.allowed.split(", ");
      const set = (value) => {
        const others = Object.entries({ ...values, [one.name]: value }).filter(([, text]) => text !== "" && text != null);
        this.change({ p: others.map(([name, text]) => `${name}=${text}`) });
      };
      const id = `param-${one.name}`;
      const isChoice = words.length > 1 && words.every((word) => /^[a-z-]+$/.test(word));
      const input = isChoice
        ? h("select", { id, onchange: () => set(input.value === one.default ? "" : input.value) }, words.map((word) => h("option", { value: word }, word)))
        : h("input", { id, type: "text", placeholder: one.default, spellcheck: "false", onchange: () => set(input.value) });
      input.value = values[one.name] ?? (isChoice ? one.default : "");
      return h("label", { for: id }, h("span", {}, one.name), input, h("small", {}, `${one.help} (${one.allowed})`));
    }));
  }

  pick() {
    const about = this.catalogue.find((one) => one.name === this.algorithm.value);
    const keep = about.topologies.includes(this.run.topology) || (about.topologies.length > 1 && this.run.topology?.startsWith("links:"));
    this.change({ a: about.name, p: undefined, votes: undefined, cheat: undefined, topology: keep ? this.run.topology : undefined });
  }

  pickTopology() {
    if (this.topology.value === "draw") {
      this.topology.value = this.run.topology ?? this.about().topologies[0];
      this.onDraw();
      return;
    }
    // Grids and cubes have a size of their own.
    const hasSize = /^(grid|torus|hypercube)/.test(this.topology.value);
    this.change({ topology: this.topology.value, n: hasSize ? undefined : this.run.n, view: undefined });
  }

  // Another number of nodes: lists that have one entry for each node no longer fit.
  resize() {
    const { ids, values, topology } = this.run;
    const isFixed = /^(grid|torus|hypercube|links)/.test(topology ?? "");
    this.change({ n: this.nodes.value || undefined, ids: ids?.includes(",") ? undefined : ids, values: values?.includes(",") ? undefined : values, topology: isFixed ? undefined : topology, view: undefined });
  }

  // Shows the size that follows from other fields.
  showSize(members) {
    this.nodes.placeholder = String(members);
  }

  change(fields) {
    this.onChange({ ...this.run, ...fields, do: [], at: undefined, lesson: undefined, opened: undefined });
  }

  // Shows what is wrong, beside the control that is wrong.
  fail(error) {
    for (const small of this.root.querySelectorAll("small.problem")) small.textContent = "";
    for (const bad of this.root.querySelectorAll("[aria-invalid]")) bad.removeAttribute("aria-invalid");
    this.problem.textContent = "";
    if (!error) return;
    const hint = error.nearest ? ` Would fit: ${error.nearest}.` : "";
    this.problem.textContent = `${error.message}.${hint}`.replace("..", ".");
    const control = { a: this.algorithm, n: this.nodes, topology: this.topology, p: this.params.button }[error.field] ?? $(`#field-${CSS.escape(error.field ?? "-")}`, this.root);
    control?.setAttribute("aria-invalid", "true");
    const small = $(`small[data-for="${CSS.escape(error.field ?? "-")}"]`, this.root);
    if (small) small.textContent = error.message;
    const group = this.buttons.find((one) => one.inputs.some(({ key }) => key === error.field));
    group?.button.setAttribute("aria-invalid", "true");
  }
}

function read(key, text) {
  const value = text.trim();
  if (!value) return undefined;
  return LISTS.has(key) ? value.split(/\s+/) : value;
}
