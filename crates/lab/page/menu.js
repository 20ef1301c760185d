// One small menu for everything that can be broken: the same for right-click, click, long press and Enter.

import { h, replace } from "./dom.js";

let open = null;

export function showMenu(title, items, { x, y, from }) {
  close();
  const menu = h("div", { class: "menu", role: "menu", "aria-label": title },
    h("p", { class: "menu-title" }, title),
    items.map(({ text, hint, action, bad, disabled }) =>
      h("button", { type: "button", role: "menuitem", class: bad ? "bad" : "", disabled, title: hint, onclick: () => {
        close();
        action();
      } }, text)));
  document.body.append(menu);
  const width = menu.offsetWidth;
  const height = menu.offsetHeight;
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y + 2, innerHeight - height - 4))}px`;
  const buttons = () => [...menu.querySelectorAll("button:not([disabled])")];
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const all = buttons();
      all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  open = { menu, from: from ?? document.activeElement };
  buttons()[0]?.focus({ preventScroll: true });
  setTimeout(() => addEventListener("pointerdown", outside), 0);
}

function outside(event) {
  if (open && !open.menu.contains(event.target)) close();
}

export function close() {
  if (!open) return;
  removeEventListener("pointerdown", outside);
  const { menu, from } = open;
  open = null;
  menu.remove();
  if (from?.isConnected) from.focus({ preventScroll: true });
}

// A dialog with a title, closed with Escape or its button.
export function showDialog(title, ...content) {
  const dialog = h("dialog", { class: "dialog", "aria-label": title });
  const done = () => dialog.close();
  replace(dialog, h("header", {}, h("h2", {}, title), h("button", { type: "button", class: "quiet", onclick: done, "aria-label": "Close" }, "Close")), content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && done());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// A short message at the bottom.
export function toast(text, tone = "") {
  const box = document.querySelector("#toast");
  box.textContent = text;
  box.className = `shown ${tone}`;
  clearTimeout(box.timer);
  box.timer = setTimeout(() => (box.className = ""), 4000);
}
