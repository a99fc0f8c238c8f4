// Everything that the page does can be done without a mouse.

import { byId } from "./dom.js";
import * as filters from "./filters.js";
import * as reader from "./reader.js";
import * as results from "./results.js";
import { change, CLOSED, state } from "./state.js";
import * as theme from "./theme.js";

/** Listens to keys on the whole page; `acts` are what the page does for them: `stages`, `answer` and `go(view)`. */
export function start(acts) {
  byId("query").addEventListener("keydown", inQuery);
  document.addEventListener("keydown", (event) => anywhere(event, acts));
  if (/mac/i.test(navigator.platform)) for (const one of document.querySelectorAll(".jump")) one.textContent = "⌘ K";
  byId("help-open").addEventListener("click", () => byId("help").showModal());
}

function inQuery(event) {
  if (event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    results.move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    event.preventDefault();
    read();
  }
}

function toQuery(acts) {
  acts.go("search");
  byId("query").focus();
  byId("query").select();
}

/** Goes to the document that is selected, otherwise to the first. */
function read() {
  results.select(Math.max(results.place(), 0), { read: true });
  requestAnimationFrame(reader.focus);
}

const typing = (target) => target.matches?.("input:not([type=checkbox]), select, textarea, [contenteditable]");

const isJump = (event) => (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";

function jump(event, acts) {
  event.preventDefault(); // the browser has this key for its own search
  document.querySelector("dialog[open]:not(#token)")?.close();
  toQuery(acts);
}

function anywhere(event, acts) {
  if (isJump(event) && !byId("token").open) return void jump(event, acts);
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return; // a dialog closes itself
  if (event.key === "Escape") return void escape(event, acts);
  if (typing(event.target)) return void (event.key === "?" && !event.target.value && event.target.id === "query" && help(event));
  const inReader = byId("reader").contains(event.target);
  const keys = {
    "/": () => toQuery(acts),
    "?": () => byId("help").showModal(),
    ArrowDown: () => inReader || results.move(1),
    ArrowUp: () => inReader || results.move(-1),
    j: () => results.move(1),
    k: () => results.move(-1),
    Enter: () => event.target === document.body && read(),
    a: acts.answer,
    w: () => change({ tab: state.tab === "why" ? "document" : "why" }),
    r: () => change({ tab: state.tab === "related" ? "document" : "related" }),
    g: () => acts.go(state.view === "graph" ? "search" : "graph"),
    d: () => theme.toggle(),
    s: acts.stages,
  };
  const act = keys[event.key];
  if (!act) return;
  // Arrows scroll a document that is being read, and Enter presses a button that has the focus.
  if (!(inReader && event.key.startsWith("Arrow")) && !(event.key === "Enter" && event.target !== document.body)) event.preventDefault();
  act();
}

function help(event) {
  event.preventDefault();
  byId("help").showModal();
}

/** One step back: the form, the place inside the document, the document, the words. */
function escape(event, acts) {
  event.preventDefault();
  const query = byId("query");
  if (filters.toggle(false)) return;
  if (document.activeElement !== query && byId("reader").contains(document.activeElement) && state.view === "search") query.focus({ preventScroll: true });
  else if (state.open && (state.view === "graph" || getComputedStyle(byId("reader")).position === "fixed")) change(CLOSED);
  else if (state.view === "graph") acts.go("search");
  else if (document.activeElement !== query) query.focus();
  else if (state.query || state.filters.length) change({ query: "", filters: [], ...CLOSED });
}
