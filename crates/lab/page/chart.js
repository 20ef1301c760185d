// Charts over the number of nodes: measured as lines, the formula as dashed lines, both of them points that can be read.

import { s } from "./dom.js";
import { colourOf } from "./colours.js";

const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 64;
const BOTTOM = 40;
const RIGHT = 150;

// `points` of all curves, `names` of the curves, and which `value` to draw.
export function draw(points, names, value, title) {
  const shown = points.filter((point) => Number.isFinite(point[value]));
  const sizes = [...new Set(shown.map((point) => point.n))].sort((a, b) => a - b);
  const most = Math.max(1, ...shown.flatMap((point) => [point[value], value === "messages" && point.expected != null ? point.expected : 0]));
  const scale = ticks(most);
  const x = (n) => LEFT + ((WIDTH - LEFT - RIGHT) * (n - sizes[0])) / Math.max(1, sizes[sizes.length - 1] - sizes[0]);
  const y = (number) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - 16) * number) / scale[scale.length - 1];
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title} over the number of nodes: ${names.join(", ")}` });
  for (const tick of scale) {
    svg.append(s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }), s("text", { class: "axis end", x: LEFT - 8, y: y(tick), dy: "0.35em" }, tick.toLocaleString("en")));
  }
  for (const n of thinned(sizes, 12)) svg.append(s("text", { class: "axis middle", x: x(n), y: HEIGHT - BOTTOM + 18 }, String(n)));
  svg.append(s("text", { class: "axis middle", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4 }, "nodes"), s("text", { class: "axis", x: LEFT, y: 11 }, title));
  const ends = [];
  names.forEach((name, run) => {
    const own = shown.filter((point) => point.run === run).sort((a, b) => a.n - b.n);
    if (!own.length) return;
    const path = (list, of) => list.map((point, at) => `${at ? "L" : "M"}${x(point.n).toFixed(1)} ${y(of(point)).toFixed(1)}`).join("");
    const expected = value === "messages" ? own.filter((point) => point.expected != null) : [];
    if (expected.length > 1) svg.append(s("path", { class: "formula", stroke: colourOf(run), d: path(expected, (point) => point.expected) }));
    svg.append(s("path", { class: "curve", stroke: colourOf(run), d: path(own, (point) => point[value]) }));
    for (const point of own) {
      const text = `${name}, n = ${point.n}: ${round(point[value])} ${title}${point.expected != null && value === "messages" ? `, formula ${round(point.expected)}` : ""}`;
      svg.append(s("circle", { class: "point", cx: x(point.n), cy: y(point[value]), r: 4, fill: colourOf(run) }, s("title", {}, text)));
    }
    ends.push({ name, run, y: y(own[own.length - 1][value]), x: x(own[own.length - 1].n) });
  });
  // Names stand at the ends of their curves, and make room for each other.
  ends.sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const end of ends) {
    last = Math.max(end.y, last + 16);
    svg.append(s("text", { class: "axis name", x: WIDTH - RIGHT + 8, y: last, dy: "0.35em" }, end.name), s("rect", { x: WIDTH - RIGHT - 2, y: last - 1.5, width: 7, height: 3, fill: colourOf(end.run) }));
  }
  return svg;
}

// Round numbers from 0 to above the greatest.
export function ticks(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 5, 10].map((one) => (one * power) / 5).find((one) => most / one <= 6) ?? power;
  const list = [];
  for (let at = 0; at * step < most + step * 0.999; at++) list.push(Math.round(at * step * 1000) / 1000);
  return list;
}

function thinned(list, most) {
  const step = Math.ceil(list.length / most);
  return list.filter((_, at) => at % step === 0 || at === list.length - 1);
}

const round = (number) => (Number.isInteger(number) ? number : number.toFixed(1));
