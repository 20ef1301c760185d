// The last failover: the messages that the nodes really sent, drawn by the server.

import { download, h, replace, say } from "./dom.js";

const round = (ms) => (Math.abs(ms) < 100 ? ms.toFixed(1) : Math.round(ms).toString());

// The time of a step: milliseconds since the last sign of the former holder.
export const since = (ms) => `${ms < -0.05 ? "−" : "+"}${round(Math.abs(ms))} ms`;

// Who tells a step. A node that tells what it did itself is the subject of the sentence.
export const sentence = ({ nodes, text, held }) => `${held ? "★ " : ""}${nodes.length > 4 ? `${nodes.length} nodes` : nodes.join(", ")}: ${text}`;

// How long it took, for pages that did not break the leader themselves.
export function summary({ former, holder, took_ms: took, last_sign: lastSign, is_exact: isExact }) {
  const from = { "gave-up": `from when ${former} gave the office up`, closed: `from when the connections to ${former} closed`, message: `from the last message from ${former}` }[lastSign];
  return [`${round(took)} ms`, ` ${from} until ${isExact ? `${holder} held the office` : `it was known that ${holder} holds the office`}`];
}

// The picture, from text. Scripts in it would not run, and there are none.
function parse(text) {
  const { documentElement: root } = new DOMParser().parseFromString(text, "image/svg+xml");
  return root.nodeName === "svg" ? document.importNode(root, true) : null;
}

export class Failover {
  constructor() {
    this.caption = h("p", { class: "soft" });
    this.scroll = h("div", { class: "failover-scroll", tabindex: 0, role: "region", "aria-label": "Messages of the last failover" });
    this.steps = h("ol", { class: "failover-steps", "aria-label": "Steps of the last failover" });
    this.save = h("button", { type: "button", class: "quiet", onclick: () => download(`failover-${this.shown.token}.svg`, new Blob([this.shown.svg], { type: "image/svg+xml" })) }, "Save the diagram");
    this.root = h("div", { class: "failover", hidden: true }, this.scroll, this.caption, this.steps, this.save);
  }

  // Asks for the picture if there is another one.
  async update(token) {
    if (token == null || token === this.token) return;
    this.token = token;
    const response = await fetch("api/live/failover").catch(() => null);
    const found = response?.ok ? await response.json() : null;
    if (found) this.show(found);
    else this.token = null;
  }

  show(found) {
    this.shown = found;
    this.root.hidden = false;
    this.root.dataset.token = found.token;
    const svg = found.svg ? parse(found.svg) : null;
    for (const part of [this.scroll, this.steps, this.save]) part.hidden = !svg;
    if (!svg) {
      say(this.caption, `The messages between ${found.former} and ${found.holder} cannot be drawn: ${found.problem}.`);
      return;
    }
    const silent = found.silent.length ? ` No trace of ${found.silent.join(", ")}: only what the others sent and received is known.` : "";
    say(this.caption, `${found.messages} messages as they were sent, in milliseconds since the last sign of ${found.former}.${silent}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Space-time diagram: ${found.holder} takes over from ${found.former}. The steps are listed below.`);
    // Names stay in view while the picture is scrolled sideways.
    const names = [...svg.querySelectorAll("text.name")].map((name) => {
      const label = h("span", {}, name.textContent);
      label.style.top = `${name.getAttribute("y") - 13}px`;
      return label;
    });
    const column = h("div", { class: "failover-names", "aria-hidden": "true" }, names);
    column.style.width = `${Number(svg.querySelector("text.name")?.getAttribute("x") ?? 0) + 4}px`;
    replace(this.scroll, column, svg);
    this.scroll.scrollLeft = 0;
    replace(this.steps, found.steps.map((step) => h("li", { "data-held": String(step.held) }, h("time", {}, since(step.at_ms)), h("span", {}, sentence(step)))));
  }
}
