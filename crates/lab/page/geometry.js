// Places of things that move, and what is under the pointer. No DOM.

// The point at a part of the way from one node to another. Messages keep to the right, so that two that meet are not
// drawn on top of each other.
export function along(from, to, part, aside = 0, gap = 0) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  // It leaves at the edge of one node and arrives at the edge of the other.
  const edge = Math.min(gap / length, 0.4);
  const place = edge + (1 - 2 * edge) * part;
  return {
    x: from.x + dx * place - (dy / length) * aside,
    y: from.y + dy * place + (dx / length) * aside,
  };
}

// A message to oneself goes in a small circle.
export function loop(node, part, radius) {
  const angle = Math.PI * (2 * part - 0.5);
  return { x: node.x + radius * 1.6 * Math.cos(angle), y: node.y - radius * 1.6 + radius * Math.sin(angle) };
}

// From coordinates between -1 and 1 to the largest square in the middle of a box.
export function fit(width, height, margin) {
  const scale = Math.max(10, Math.min(width, height) / 2 - margin);
  // A wide pane is used a little more than a square would.
  const stretch = Math.min(1.35, Math.max(1, (width / 2 - margin) / scale));
  return { scale, stretch, x: width / 2, y: height / 2 };
}

export function place([x, y], box) {
  return { x: box.x + x * box.scale * box.stretch, y: box.y + y * box.scale };
}

// The size of nodes: as large as their number allows, and never so small that it cannot be seen.
export function radius(count, box, shape) {
  if (shape === "ring" || shape === "complete" || shape === "sun" || shape === "divided") {
    return Math.max(3, Math.min(26, box.scale * 0.17, (Math.PI * box.scale) / Math.max(count, 1) / 1.25));
  }
  return Math.max(3, Math.min(24, (box.scale * 1.5) / Math.sqrt(Math.max(count, 1)) / 2.5));
}

// The nearest of some points within a distance.
export function nearest(points, x, y, within) {
  let found = null;
  let best = within * within;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance <= best) {
      best = distance;
      found = point;
    }
  }
  return found;
}

// The distance of a point from a line between two others.
export function distanceToLine(from, to, x, y) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const part = Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - from.x - part * dx, y - from.y - part * dy);
}

// A star with five points.
export function star(radius) {
  const points = [];
  for (let at = 0; at < 10; at++) {
    const r = at % 2 ? radius * 0.58 : radius * 1.35;
    const angle = (Math.PI * at) / 5 - Math.PI / 2;
    points.push(`${(r * Math.cos(angle)).toFixed(1)},${(r * Math.sin(angle)).toFixed(1)}`);
  }
  return points.join(" ");
}
