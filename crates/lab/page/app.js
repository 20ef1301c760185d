// The page: its views, its address, its keys.

import { $, download, h } from "./dom.js";
import * as api from "./api.js";
import { format, parse } from "./codec.js";
import { Form } from "./form.js";
import { Lab } from "./lab.js";
import { Compare } from "./compare.js";
import { edit } from "./editor.js";
import { connect } from "./live.js";
import * as lessonViews from "./lessons.js";
import { close, showDialog, showMenu, toast } from "./menu.js";

// What a newcomer sees: an election that happens.
const FIRST = "a=bully&ids=0,1,2,3,4,5,6,7&crash=7@0&initiators=4";

const KEYS = [
  ["Space", "play or pause"],
  ["← →", "one event back, forward"],
  ["Shift ← →", "ten events"],
  ["Home End", "to the start, the end"],
  ["+ −", "faster, slower"],
  ["Tab, then ↑ ↓", "through the nodes"],
  ["Enter", "break the chosen node"],
  ["c", "crash the leader"],
  ["1 2 3 4", "Run, Compare, Lessons, Live"],
  ["?", "these keys"],
];

let lab;
let compare;
let live = null; // a cluster of real nodes, if the server has one
let lessons = [];
let catalogue = [];
let isOurs = false; // whether the address was changed by the page itself

function view() {
  return document.documentElement.dataset.view ?? "run";
}

async function start() {
  if (new URLSearchParams(location.search).has("big")) document.documentElement.classList.add("big");
  const stored = storedTheme();
  if (stored) document.documentElement.dataset.theme = stored;
  bind();
  try {
    [catalogue, lessons] = await Promise.all([api.catalogue(), api.lessons()]);
  } catch (error) {
    $("#leader").textContent = "Not available";
    $("#say").textContent = error.message;
    return;
  }
  const form = new Form($("#what"), catalogue, {
    onChange: (run) => open(run),
    onDraw: () => edit(null, (topology, places) => open({ ...lab.run, topology, view: places, n: undefined, do: [], at: undefined })),
    onAbout: about,
  });
  lab = new Lab($("#view-run"), form, address);
  compare = new Compare($("#view-compare"), catalogue, (run) => view() === "compare" && address(run));
  lessonViews.list($("#view-lessons"), lessons, openLesson);
  live = await connect($("main"), $(".top nav"), () => go("live"));
  window.hustings = { lab, compare, live }; // for tests and for the curious
  addEventListener("hashchange", () => {
    if (isOurs) isOurs = false;
    else navigate();
  });
  await navigate();
  document.documentElement.dataset.ready = "yes";
}

// Shows what the address says.
async function navigate() {
  const text = location.hash.slice(1);
  const run = parse(text);
  const isPlain = !run.a && run.opened == null;
  if (run.with) {
    show("compare");
    lab.run = run;
    return compare.show(run);
  }
  if (text === "lessons") return show("lessons");
  if (text === "live" && live) return show("live");
  show("run");
  const lesson = lessons.find((one) => one.name === run.lesson);
  const wanted = isPlain && lesson ? { ...parse(lesson.run), lesson: lesson.name } : isPlain ? parse(FIRST) : run;
  lessonPanel(lesson);
  const isDone = await lab.show(wanted);
  // An election should be seen to happen at once.
  if (isDone && wanted.at == null && !matchMedia("(prefers-reduced-motion: reduce)").matches) lab.player.play();
}

function open(run) {
  address(run, true);
  lessonPanel(lessons.find((one) => one.name === run.lesson));
  return lab.show(run).then((isDone) => isDone && lab.player.play());
}

// Puts a run into the address; `isNew` makes it a step that Back undoes.
function address(run, isNew = false) {
  if (run.isForeign) return;
  const text = `#${format(run)}`;
  if (text === location.hash) return;
  if (isNew) history.pushState(null, "", text);
  else history.replaceState(null, "", text);
}

function show(name) {
  document.documentElement.dataset.view = name;
  for (const section of document.querySelectorAll(".view")) section.hidden = section.id !== `view-${name}`;
  if (name === "live") live.open();
  else live?.close();
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "run") {
    lab?.network.arrange();
    lab?.diagram.redraw();
  } else lab?.player.pause();
}

function go(name) {
  if (name === "lessons" || name === "live") {
    history.pushState(null, "", `#${name}`);
    show(name);
  } else if (name === "compare") {
    show("compare");
    compare.show({ ...lab.run, opened: undefined });
  } else {
    show("run");
    compare.stop();
    if (lab.model) address({ ...lab.run, with: undefined, at: lab.player.count || undefined }, true);
    else navigate();
  }
}

function openLesson(lesson) {
  show("run");
  open({ ...parse(lesson.run), lesson: lesson.name });
}

function lessonPanel(lesson) {
  lessonViews.panel($("#lesson"), lesson, lessons, {
    onOpen: openLesson,
    onClose: () => {
      lab.run = { ...lab.run, lesson: undefined };
      lessonPanel(null);
      address({ ...lab.run, at: lab.player.count || undefined });
    },
  });
  lab?.network.arrange();
}

function about(one) {
  showDialog(one.name, h("p", {}, `${one.summary}.`), h("dl", { class: "facts" },
    h("dt", {}, "From"), h("dd", {}, one.source),
    h("dt", {}, "Messages"), h("dd", {}, one.costs.join("; ") || "no formula"),
    h("dt", {}, "Kinds"), h("dd", {}, one.kinds.join(", ")),
    h("dt", {}, "Started by"), h("dd", {}, one.initiators === "all" ? "every live node" : "the lowest live node"),
    h("dt", {}, "Rules"), h("dd", {}, `${one.docs} in the repository; on the command line: hustings list ${one.name}`)));
}

function bind() {
  for (const link of document.querySelectorAll("nav [data-view]")) {
    link.onclick = (event) => {
      event.preventDefault();
      go(link.dataset.view);
    };
  }
  $("#share").onclick = share;
  $("#export").onclick = exportMenu;
  $("#theme").onclick = switchTheme;
  $("#keys").onclick = () => showDialog("Keys", h("dl", { class: "facts" }, KEYS.map(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])));
  addEventListener("keydown", key);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) openTrace(event.dataTransfer.files[0]);
  });
}

async function share() {
  const url = location.href;
  try {
    await navigator.clipboard.writeText(url);
    toast("The address of exactly this run is copied.");
  } catch {
    showDialog("Address of this run", h("p", {}, h("input", { type: "text", class: "wide", readonly: true, value: url, "aria-label": "Address" })));
  }
}

function exportMenu() {
  const box = $("#export").getBoundingClientRect();
  const saved = (name, format) => async () => {
    try {
      download(name, await api.exported(format, format_(lab.run)));
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  const isOwn = !lab.isForeign;
  showMenu("Export", [
    { text: "Diagram, SVG", disabled: !isOwn, action: saved("election.svg", "svg") },
    { text: "Diagram, PNG", action: () => picture($("#diagram canvas.spacetime"), "diagram.png") },
    { text: "Network, PNG", action: networkPicture },
    { text: "Mermaid", disabled: !isOwn, action: saved("election.mmd", "mermaid") },
    { text: "ShiViz log", disabled: !isOwn, action: saved("election.shiviz", "shiviz") },
    { text: "Trace, JSON lines", disabled: !isOwn, action: saved("election.jsonl", "jsonl") },
    { text: "Open a trace…", action: chooseTrace },
  ], { x: box.left, y: box.bottom, from: $("#export") });
}

const format_ = (run) => format(run, false);

// The canvas with the page's background, as a file.
function picture(source, name) {
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0);
  canvas.toBlob((blob) => download(name, blob));
}

// Nodes are SVG and messages a canvas: both become one picture.
async function networkPicture() {
  const svg = $("#network svg.net").cloneNode(true);
  const flights = $("#network canvas.flights");
  // The picture stands alone, so what style sheets say goes into it.
  const [from, to] = [$("#network svg.net").querySelectorAll("*"), svg.querySelectorAll("*")];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-weight", "text-anchor"]) to[at].setAttribute(name, style.getPropertyValue(name));
  });
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("width", flights.clientWidth);
  svg.setAttribute("height", flights.clientHeight);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = flights.width;
  canvas.height = flights.height;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  context.drawImage(flights, 0, 0);
  picture(canvas, "network.png");
}

function chooseTrace() {
  const input = h("input", { type: "file", accept: ".jsonl,.json,.txt", onchange: () => input.files[0] && openTrace(input.files[0]) });
  input.click();
}

async function openTrace(file) {
  try {
    const timeline = await api.trace(file);
    show("run");
    lessonPanel(null);
    lab.showTimeline(timeline);
    lab.player.play();
    toast(`${file.name}: ${timeline.title}`);
  } catch (error) {
    toast(error.message, "bad");
  }
}

function key(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  const isTyping = target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (event.key === "Escape") close();
  if (isTyping || document.querySelector("dialog[open], .menu") || target.closest?.("[popover]")) return;
  if (event.key === "?") return $("#keys").click();
  const views = ["run", "compare", "lessons", ...(live ? ["live"] : [])];
  if (views[event.key - 1]) return go(views[event.key - 1]);
  if (view() !== "run" || !lab?.model) return;
  const isButton = target.matches?.("button, summary, a, [role=button]");
  const { player } = lab;
  const step = event.shiftKey ? 10 : 1;
  const actions = {
    " ": () => !isButton && player.toggle(),
    ArrowRight: () => player.step(step),
    ArrowLeft: () => player.step(-step),
    Home: () => player.jump(0),
    End: () => player.jump(lab.model.length),
    "+": () => player.faster(1),
    "=": () => player.faster(1),
    "-": () => player.faster(-1),
    c: () => lab.crashLeader(),
  };
  const action = actions[event.key];
  if (!action || (event.key === " " && isButton)) return;
  event.preventDefault();
  action();
}

function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  lab?.draw();
  compare?.go(compare.time);
}

start();
