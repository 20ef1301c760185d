// Guided scenarios: a list of them, and the panel beside a run.

import { h, replace } from "./dom.js";

export function list(root, lessons, onOpen) {
  replace(root, h("div", { class: "lessons" },
    h("p", { class: "lead" }, "Each lesson is a text, a run and questions. Step through the run, break it, then look at the answers."),
    h("ol", { class: "cards" }, lessons.map((lesson) =>
      h("li", {}, h("button", { type: "button", class: "card", "data-lesson": lesson.name, onclick: () => onOpen(lesson) },
        h("strong", {}, lesson.title), h("span", { class: "soft" }, lesson.source), h("span", {}, first(lesson.text))))))));
}

export function panel(root, lesson, lessons, { onOpen, onClose }) {
  root.hidden = !lesson;
  if (!lesson) return;
  const at = lessons.indexOf(lesson);
  const next = lessons[at + 1];
  replace(root,
    h("header", {}, h("span", { class: "soft" }, `Lesson ${at + 1} of ${lessons.length}`), h("button", { type: "button", class: "quiet", onclick: onClose }, "Close")),
    h("h2", {}, lesson.title),
    lesson.text.trim().split(/\n\s*\n/).map((paragraph) => h("p", {}, paragraph)),
    lesson.try?.length ? [h("h3", {}, "Try"), h("ul", {}, lesson.try.map((one) => h("li", {}, one)))] : null,
    lesson.question.length ? h("h3", {}, "Questions") : null,
    lesson.question.map(({ ask, answer }) => h("details", {}, h("summary", {}, ask), h("p", {}, answer))),
    h("footer", {}, h("span", { class: "soft" }, lesson.source), next ? h("button", { type: "button", class: "quiet", onclick: () => onOpen(next) }, `Next: ${next.title}`) : null));
}

function first(text) {
  const sentence = text.trim().split(/(?<=[.!?])\s/)[0];
  return sentence.length > 150 ? `${sentence.slice(0, 149)}…` : sentence;
}
