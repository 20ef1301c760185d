// Small helpers. Elements are made one by one and text is always text: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (selector, within = document) => within.querySelector(selector);

export function h(name, props = {}, ...children) {
  return fill(document.createElement(name), props, children);
}

export function s(name, props = {}, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.setAttribute("class", value);
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
}

// Sets text only if it differs, so that live regions do not repeat themselves.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A canvas that is as sharp as the screen.
export function sharpen(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

export const prefersStill = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

// Saves bytes under a name.
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
