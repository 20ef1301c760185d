// A cluster of real nodes: who leads, what happened, and the buttons that break it.

import { h, replace, say } from "./dom.js";
import { Failover, summary } from "./failover.js";
import { toast } from "./menu.js";

const ACTIONS = {
  kill: { text: "Kill", title: "SIGKILL to its process", bad: true },
  freeze: { text: "Freeze", title: "SIGSTOP to its process, as if its host hung" },
  cut: { text: "Cut off", title: "No bytes reach it or leave it, and no connection is closed" },
  revive: { text: "Revive", title: "Undo it: a new process, SIGCONT, or open links" },
};

// What a member is doing: its shape, in words, and whether it is in trouble.
export function condition(member, leader, process) {
  const isLeader = leader?.current && leader.holder === member.name;
  if (process?.condition === "killed") return { role: "down", words: "killed", isTroubled: true };
  if (process?.condition === "ended") return { role: "down", words: "ended by itself", isTroubled: true };
  if (process?.condition === "frozen") return { role: "passive", words: "frozen", isTroubled: true };
  if (process?.cut) return { role: "passive", words: "cut off", isTroubled: true };
  if (isLeader) return { role: "leader", words: "leads" };
  if (!member.up) return { role: "down", words: "down" };
  if (leader?.current && leader.holder) return { role: "follower", words: `follows ${leader.holder}` };
  return { role: "candidate", words: "knows no leader" };
}

// By rank, as candidates are compared: priority, health, id.
export const byRank = (a, b) => b.priority - a.priority || b.health - a.health || b.id - a.id;

// The leader first, then by rank.
export function ranked(members, leader) {
  const first = (member) => (leader?.current && leader.holder === member.name ? 0 : 1);
  return [...members].sort((a, b) => first(a) - first(b) || byRank(a, b));
}

function rankOf(member, members) {
  if (!member.id) return "–";
  const place = [...members].sort(byRank).findIndex((one) => one.name === member.name) + 1;
  return `${place} of ${members.length} (priority ${member.priority}${member.health < 100 ? `, health ${member.health}` : ""})`;
}

export function ago(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export const duration = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`);

const milliseconds = (ms) => (ms < 0.095 ? ms.toFixed(2) : ms < 9.95 ? ms.toFixed(1) : Math.round(ms).toString());

// A range of round trips, such as "0.2–0.4 ms".
export function range(times) {
  if (!times.length) return "";
  const [least, most] = [Math.min(...times), Math.max(...times)].map(milliseconds);
  return least === most ? `${least} ms` : `${least}–${most} ms`;
}

// Whom a member sees and how, in one short line, and everything in a longer one.
export function reach({ peers, current, measured }) {
  const missing = peers.filter((peer) => !peer.up).map((peer) => peer.name);
  const links = (measured?.links ?? []).filter((link) => !missing.includes(link.peer));
  const relayed = links.filter((link) => link.way === "relayed").map((link) => link.peer);
  const trips = range(links.map((link) => link.rtt_ms).filter((ms) => ms != null));
  const rate = measured?.messages_per_second;
  const seen = [missing.length ? `sees all but ${missing.join(", ")}` : "sees all", relayed.length && `${relayed.join(", ")} by relay`, trips];
  const line = [seen.filter(Boolean).join(", "), rate != null && `${Math.round(rate)} msg/s`, !current && "no majority answers it"];
  const each = (link) => `${link.peer} ${{ direct: "directly", relayed: "by relay", none: "not connected" }[link.way]}${link.rtt_ms == null ? "" : `, ${milliseconds(link.rtt_ms)} ms`}`;
  return { line: line.filter(Boolean).join(" · "), title: (measured?.links ?? []).map(each).join("; ") };
}

const clock = (unixMs) => new Date(unixMs).toLocaleTimeString([], { hour12: false });

export class Live {
  constructor(section) {
    this.section = section;
    this.cards = new Map();
    this.failover = new Failover();
    this.storyCount = 0;
    this.search = "";
    this.page = 0;
    this.build();
  }

  build() {
    this.headName = h("h2", { id: "live-cluster" }, "…");
    this.badge = h("span", { class: "badge" }, "real processes");
    this.headline = h("p", { class: "headline", role: "status", id: "live-leader" }, "Connecting…");
    this.headMore = h("p", { class: "head-more" });
    this.killLeader = h("button", { type: "button", class: "kill", id: "live-kill-leader", onclick: () => this.act("kill leader") }, "Kill the leader");
    this.reviveAll = h("button", { type: "button", id: "live-revive-all", onclick: () => this.act("revive") }, "Revive all");
    this.facts = h("p", { class: "live-facts" });
    this.members = h("ul", { class: "members", "aria-label": "Members" });
    this.story = h("ol", { class: "story", "aria-live": "polite", "aria-label": "What happened" });
    this.measured = h("p", { class: "measured" });
    this.history = h("tbody", {});
    this.offices = h("tbody", {});
    this.officeCount = h("span", { class: "soft" });
    this.searchField = h("input", { type: "search", "aria-label": "Search offices", placeholder: "Office or holder", maxlength: 60, oninput: () => {
      this.search = this.searchField.value.trim();
      this.page = 0;
      this.loadOffices();
    } });
    this.previous = h("button", { type: "button", class: "quiet", onclick: () => this.turn(-1) }, "Previous");
    this.following = h("button", { type: "button", class: "quiet", onclick: () => this.turn(1) }, "Next");
    this.pageCount = h("span", { class: "soft" });
    replace(this.section,
      h("header", { class: "live-head" },
        h("div", { class: "live-title" }, this.headName, this.badge, this.facts),
        h("div", {}, this.headline, this.headMore),
        h("div", { class: "live-buttons" }, this.killLeader, this.reviveAll)),
      h("div", { class: "live-body" },
        h("div", { class: "live-main" }, this.members),
        h("div", { class: "live-side" },
          h("section", { "aria-label": "What happened" }, h("h3", {}, "What happened"), this.story),
          h("section", { "aria-label": "Last failover" }, h("h3", {}, "Last failover"), this.measured, this.failover.root),
          h("details", { class: "live-more" }, h("summary", {}, "History of the leader"),
            h("table", { class: "live-table" }, h("thead", {}, h("tr", {}, ["since", "leader", "token", "why"].map((name) => h("th", {}, name)))), this.history)),
          h("details", { class: "live-more", ontoggle: () => this.loadOffices() }, h("summary", {}, "Offices ", this.officeCount),
            h("div", { class: "live-search" }, this.searchField, this.previous, this.pageCount, this.following),
            h("table", { class: "live-table" }, h("thead", {}, h("tr", {}, ["office", "holder", "token", "since", "why"].map((name) => h("th", {}, name)))), this.offices)))));
    this.killLeader.hidden = true;
    this.reviveAll.hidden = true;
  }

  // Looks at the cluster as long as the view is shown.
  open() {
    if (this.source) return;
    this.source = new EventSource("api/live/events");
    this.source.addEventListener("state", (event) => this.show(JSON.parse(event.data)));
    this.source.onerror = () => {
      this.headline.textContent = "The server does not answer. Is `hustings up` still running?";
      this.section.dataset.tone = "bad";
    };
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  show(state) {
    this.state = state;
    const { leader, control } = state;
    this.section.dataset.control = control ? "yes" : "no";
    say(this.headName, state.cluster ?? "no answer");
    say(this.badge, control ? "real processes" : "read only");
    this.badge.title = control ? "Every member is a process on this host; the buttons send real signals" : "This page did not start these processes and cannot touch them";
    this.showHeadline(state);
    const parts = [state.algorithm && `${state.algorithm}`, state.arbiter && (state.arbiter_leader ? `${state.arbiter} led by ${state.arbiter_leader}, term ${state.term}` : `${state.arbiter}, no leader known`), state.paused && "elections are paused", state.seen_by && !control && `seen by ${state.seen_by}`];
    say(this.facts, parts.filter(Boolean).join(" · "));
    const isHeld = leader?.current && leader.holder;
    this.killLeader.hidden = !control;
    this.killLeader.disabled = !isHeld;
    this.reviveAll.hidden = !control?.processes.some((process) => process.condition !== "running" || process.cut);
    this.showMembers(state);
    this.showStory(state);
    this.showHistory(state);
    say(this.officeCount, `${state.offices.held} held of ${state.offices.total}`);
    this.showFailover();
    this.failover.update(state.failover);
    this.section.dataset.ready = "yes";
  }

  showHeadline({ leader, current, now_unix_ms: now }) {
    const isHeld = leader?.current && leader.holder;
    say(this.headline, isHeld ? `★ ${leader.holder} leads with token ${leader.token}` : current ? "Nobody leads at the moment" : "No majority answers: nobody can lead");
    say(this.headMore, isHeld ? `for ${ago(now - leader.since_unix_ms)}: ${leader.why}` : "");
    this.section.dataset.tone = isHeld ? "good" : "bad";
  }

  showMembers(state) {
    const order = ranked(state.members, state.leader);
    const processes = new Map(state.control?.processes.map((process) => [process.name, process]) ?? []);
    // What was started is shown also before any node answers.
    const known = new Set(order.map((member) => member.name));
    for (const name of processes.keys()) if (!known.has(name)) order.push({ name, up: false, priority: 0, health: 0, id: 0, says: null });
    for (const [name, card] of this.cards) if (!order.some((member) => member.name === name)) { card.root.remove(); this.cards.delete(name); }
    const focused = document.activeElement;
    order.forEach((member, index) => {
      const card = this.cards.get(member.name) ?? this.card(member.name);
      if (this.members.children[index] !== card.root) this.members.insertBefore(card.root, this.members.children[index] ?? null);
      this.fillCard(card, member, state, processes.get(member.name));
    });
    if (focused && focused !== document.activeElement && this.members.contains(focused)) focused.focus({ preventScroll: true });
  }

  card(name) {
    const card = { name: h("strong", {}, name), words: h("span", { class: "words" }), why: h("p", { class: "why" }), facts: h("dl", { class: "member-facts" }), peers: h("p", { class: "peers" }), buttons: {} };
    const buttons = Object.entries(ACTIONS).map(([action, { text, title, bad }]) => {
      const button = h("button", { type: "button", class: bad ? "bad" : "", title, "data-action": action, "aria-label": `${text} ${name}`, onclick: () => this.act(`${action} ${name}`) }, text);
      card.buttons[action] = button;
      return button;
    });
    card.root = h("li", { class: "member", "data-member": name },
      h("header", {}, h("span", { class: "mark", "aria-hidden": "true" }), card.name, card.words),
      card.why, card.facts, card.peers, h("div", { class: "member-buttons" }, buttons));
    this.cards.set(name, card);
    return card;
  }

  fillCard(card, member, state, process) {
    const { leader } = state;
    const is = condition(member, leader, process);
    card.root.dataset.role = is.role;
    say(card.words, is.words);
    const isLeader = is.role === "leader";
    say(card.why, isLeader ? `token ${leader.token} · since ${clock(leader.since_unix_ms)} · ${leader.why}` : "");
    card.why.hidden = !isLeader;
    const facts = [
      ["rank", rankOf(member, state.members)],
      process ? ["process", process.pid ?? "none"] : ["address", member.address ?? "–"],
    ];
    replace(card.facts, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
    this.fillPeers(card, member, state, Boolean(process));
    for (const [action, button] of Object.entries(card.buttons)) {
      const isThere = process && process.pid != null;
      button.hidden = !state.control || (action === "revive") !== Boolean(is.isTroubled) && !(is.isTroubled && action === "kill" && isThere);
    }
  }

  // Whom it sees, as it says itself, if it can be asked; otherwise how those see it that can.
  fillPeers(card, { name, says }, { members }, isOwn) {
    if (says) {
      const { line, title } = reach(says);
      card.peers.title = title;
      return say(card.peers, line);
    }
    card.peers.title = "";
    const seen = members.flatMap((member) => (member.says?.measured?.links ?? []).filter((link) => link.peer === name && link.rtt_ms != null).map((link) => `${milliseconds(link.rtt_ms)} ms from ${member.name}${link.way === "relayed" ? ", by relay" : ""}`));
    return say(card.peers, isOwn ? "does not answer" : seen.join(" · "));
  }

  showStory({ control, history }) {
    if (!control) {
      const lines = history.slice(0, 8).reverse().map((change) => h("li", {}, h("time", {}, clock(change.since_unix_ms)), h("span", {}, change.holder ? `${change.holder} leads with token ${change.token}: ${change.why}` : `nobody leads: ${change.why}`)));
      return replace(this.story, lines);
    }
    const all = control.story_skipped + control.story.length;
    if (all === this.storyCount) return;
    const news = control.story.slice(Math.max(0, control.story.length - (all - this.storyCount)));
    this.storyCount = all;
    for (const event of news) {
      this.story.append(h("li", { "data-event": event.event }, h("time", {}, `${(event.at_ms / 1000).toFixed(3)} s`), h("span", {}, event.text)));
      if (event.failover) this.lastMeasured = event;
    }
    while (this.story.children.length > 200) this.story.firstChild.remove();
    this.story.scrollTop = this.story.scrollHeight;
  }

  showHistory({ history }) {
    const key = JSON.stringify(history[0] ?? null);
    if (key === this.historyKey) return;
    this.historyKey = key;
    replace(this.history, history.map((change) => h("tr", {}, [clock(change.since_unix_ms), change.holder ?? "nobody", change.token, change.why].map((text) => h("td", {}, String(text))))));
  }

  showFailover() {
    if (this.lastMeasured) {
      const { member, failover } = this.lastMeasured;
      const verb = { kill: "killed", freeze: "frozen", cut: "cut off" }[failover.by];
      replace(this.measured, h("strong", { id: "live-took" }, duration(failover.took_ms)), ` from when ${failover.lost} was ${verb} until ${member} was known to lead, as measured`);
    } else if (this.failover.shown?.took_ms != null) {
      const [time, words] = summary(this.failover.shown);
      replace(this.measured, h("strong", { id: "live-took" }, time), words);
    } else {
      say(this.measured, this.state.control ? "None yet. Kill the leader to see one." : "None since this page began to watch.");
    }
  }

  async loadOffices() {
    const details = this.offices.closest("details");
    if (!details.open) return;
    const wanted = `${this.search}/${this.page}`;
    this.wanted = wanted;
    const response = await fetch(`api/live/offices?search=${encodeURIComponent(this.search)}&page=${this.page}`).catch(() => null);
    if (!response?.ok || this.wanted !== wanted) return;
    const found = await response.json();
    this.page = found.page;
    this.previous.disabled = found.page === 0;
    this.following.disabled = found.page + 1 >= found.pages;
    say(this.pageCount, `page ${found.page + 1} of ${found.pages}, ${found.matches} found`);
    replace(this.offices, found.offices.map((office) => h("tr", {}, [office.office, office.holder ?? "nobody", office.token, clock(office.since_unix_ms), office.why].map((text) => h("td", {}, String(text))))));
  }

  turn(step) {
    this.page = Math.max(0, this.page + step);
    this.loadOffices();
  }

  async act(order) {
    let response;
    try {
      response = await fetch("api/live/act", { method: "POST", body: order });
    } catch {
      return toast("The server does not answer.", "bad");
    }
    if (response.ok) return;
    const answer = await response.json().catch(() => null);
    toast(answer?.error?.message ?? `The server answered ${response.status}.`, "bad");
  }
}

// Adds the view to the page if the server has a cluster to show.
export async function connect(main, nav, onOpen) {
  const response = await fetch("api/live").catch(() => null);
  const found = response?.ok ? await response.json() : null;
  if (!found?.live) return null;
  const section = h("section", { id: "view-live", class: "view", "aria-label": "Live", hidden: true });
  main.append(section);
  const link = h("a", { href: "#live", "data-view": "live", onclick: (event) => {
    event.preventDefault();
    onOpen();
  } }, "Live");
  nav.append(link);
  return new Live(section);
}
