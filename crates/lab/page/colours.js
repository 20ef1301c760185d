// The colours of Okabe and Ito, which people with any kind of colour vision can tell apart, and a shape for each kind of
// message, so that colour is never the only difference.

export const KINDS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7f7f7f"];
const SHAPES = ["circle", "square", "triangle", "diamond", "hexagon", "cross", "pentagon", "bar"];

export const colourOf = (kind) => KINDS[kind % KINDS.length];

// Draws the mark of a kind on a canvas.
export function mark(context, kind, x, y, size) {
  context.fillStyle = colourOf(kind);
  context.beginPath();
  outline(context, SHAPES[kind % SHAPES.length], x, y, size);
  context.fill();
}

function outline(context, shape, x, y, size) {
  const polygon = (corners, turn = -Math.PI / 2, r = size * 1.15) => {
    for (let at = 0; at < corners; at++) {
      const angle = (2 * Math.PI * at) / corners + turn;
      context.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
    }
    context.closePath();
  };
  if (shape === "circle") context.arc(x, y, size, 0, 2 * Math.PI);
  else if (shape === "square") context.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  else if (shape === "triangle") polygon(3, -Math.PI / 2, size * 1.35);
  else if (shape === "diamond") polygon(4, 0, size * 1.3);
  else if (shape === "hexagon") polygon(6);
  else if (shape === "pentagon") polygon(5);
  else if (shape === "bar") context.rect(x - size * 1.2, y - size * 0.5, size * 2.4, size);
  else {
    context.rect(x - size * 1.2, y - size * 0.4, size * 2.4, size * 0.8);
    context.rect(x - size * 0.4, y - size * 1.2, size * 0.8, size * 2.4);
  }
}

// The same mark as a small picture, for lists.
export function swatch(kind) {
  const canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(14 * ratio);
  canvas.className = "swatch";
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  mark(context, kind, 7, 7, 5);
  return canvas;
}

// The theme's colours, for what is drawn on a canvas.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), paper: of("--paper"), accent: of("--accent"), bad: of("--bad"), past: of("--past"), future: of("--future") };
}
