// Draw your own network: click to add, drag to move, click two nodes to connect or disconnect them, Delete to remove.

import { h, replace, s } from "./dom.js";
import { nearest } from "./geometry.js";
import { showDialog } from "./menu.js";

const WIDTH = 640;
const HEIGHT = 400;
const RADIUS = 16;
const MAX_NODES = 60;

// `onDone(topology, view)` gets the links, and the places of nodes for the address.
export function edit(start, onDone) {
  const nodes = start?.nodes ?? [{ x: 200, y: 120 }, { x: 440, y: 120 }, { x: 440, y: 290 }, { x: 200, y: 290 }];
  let links = start?.links ?? [[0, 1], [1, 2], [2, 3], [0, 3]];
  let chosen = null;
  const svg = s("svg", { class: "editor", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: 0, role: "application", "aria-label": "Network editor" });
  const status = h("p", { class: "soft", role: "status" });
  const text = h("input", { type: "text", id: "editor-links", spellcheck: "false", "aria-label": "Links" });
  const use = h("button", { type: "button", class: "strong" }, "Use this network");

  const draw = () => {
    const problem = check(nodes, links);
    replace(svg,
      links.map(([a, b]) => s("line", { class: "link", x1: nodes[a].x, y1: nodes[a].y, x2: nodes[b].x, y2: nodes[b].y })),
      nodes.map((node, at) => s("g", { class: `node ${at === chosen ? "candidate" : "idle"}`, transform: `translate(${node.x} ${node.y})` }, s("circle", { class: "shape", r: RADIUS }), s("text", { class: "label", dy: "0.35em", "font-size": 14 }, String(at)))));
    text.value = links.map((link) => link.join("-")).join(",");
    status.textContent = problem ?? `${nodes.length} nodes, ${links.length} links. ${chosen == null ? "Click a node to choose it, an empty place to add one." : `Node ${chosen} is chosen: click another to connect or disconnect them, Delete removes it.`}`;
    use.disabled = problem != null;
  };

  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return { x: ((event.clientX - box.left) * WIDTH) / box.width, y: ((event.clientY - box.top) * HEIGHT) / box.height };
  };
  svg.addEventListener("pointerdown", (event) => {
    const where = at(event);
    const node = nearest(nodes, where.x, where.y, RADIUS * 1.4);
    let moved = false;
    const move = (to) => {
      const place = at(to);
      if (!node || Math.hypot(place.x - where.x, place.y - where.y) < 5) return;
      moved = true;
      node.x = Math.round(Math.max(RADIUS, Math.min(WIDTH - RADIUS, place.x)));
      node.y = Math.round(Math.max(RADIUS, Math.min(HEIGHT - RADIUS, place.y)));
      draw();
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      if (moved) return;
      if (!node) {
        if (nodes.length < MAX_NODES) {
          nodes.push({ x: Math.round(where.x), y: Math.round(where.y) });
          if (chosen != null) links.push([chosen, nodes.length - 1]);
          chosen = null;
        }
      } else {
        const index = nodes.indexOf(node);
        if (chosen == null) chosen = index;
        else {
          if (chosen !== index) links = toggle(links, chosen, index);
          chosen = null;
        }
      }
      draw();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  });
  svg.addEventListener("keydown", (event) => {
    if ((event.key === "Delete" || event.key === "Backspace") && chosen != null && nodes.length > 1) {
      links = without(links, chosen);
      nodes.splice(chosen, 1);
      chosen = null;
      draw();
    }
  });
  // The same as text, for the keyboard.
  text.addEventListener("change", () => {
    const read = text.value.split(",").map((one) => one.trim().split("-").map(Number)).filter(([a, b]) => Number.isInteger(a) && Number.isInteger(b) && a >= 0 && b >= 0 && a !== b && Math.max(a, b) < MAX_NODES);
    links = read.map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
    const count = Math.max(1, ...links.map((link) => link[1] + 1));
    while (nodes.length < count) nodes.push({ x: 80 + ((nodes.length * 97) % 480), y: 60 + ((nodes.length * 61) % 280) });
    nodes.length = count;
    draw();
  });
  const dialog = showDialog("Draw a network", svg, status, h("label", { for: "editor-links" }, h("span", {}, "Links"), text), h("div", { class: "row" }, use));
  use.addEventListener("click", () => {
    dialog.close();
    const sorted = [...links].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = { x: WIDTH / 2, y: HEIGHT / 2 };
    const view = nodes.map(({ x, y }) => `${Math.round((100 * (x - half.x)) / half.x)}.${Math.round((100 * (y - half.y)) / half.y)}`).join("_");
    onDone(`links:${sorted.map((link) => link.join("-")).join(",")}`, view);
  });
  draw();
}

export function toggle(links, a, b) {
  const link = [Math.min(a, b), Math.max(a, b)];
  const others = links.filter(([from, to]) => from !== link[0] || to !== link[1]);
  return others.length < links.length ? others : [...links, link];
}

// Links without a node; the nodes after it move up.
export function without(links, node) {
  const moved = (at) => (at > node ? at - 1 : at);
  return links.filter((link) => !link.includes(node)).map((link) => link.map(moved));
}

// What keeps a drawing from being a network.
export function check(nodes, links) {
  if (nodes.length < 2) return "A network needs two nodes or more.";
  const reached = new Set([0]);
  const queue = [0];
  while (queue.length) {
    const at = queue.pop();
    for (const [a, b] of links) {
      const other = a === at ? b : b === at ? a : null;
      if (other != null && !reached.has(other)) {
        reached.add(other);
        queue.push(other);
      }
    }
  }
  const missing = nodes.findIndex((_, at) => !reached.has(at));
  return missing < 0 ? null : `Node ${missing} is not connected with node 0 yet.`;
}
