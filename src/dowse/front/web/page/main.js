// Puts the rooms of the page together: what changes in the state is asked for and drawn.

import * as answer from "./answer.js";
import * as api from "./api.js";
import { announce, byId, counted, debounced, el, narrow, show } from "./dom.js";
import * as filters from "./filters.js";
import * as graph from "./graph.js";
import * as keyboard from "./keyboard.js";
import * as reader from "./reader.js";
import * as results from "./results.js";
import * as stages from "./stages.js";
import { change, onChange, readAddress, state } from "./state.js";
import * as status from "./status.js";
import * as theme from "./theme.js";

const PAUSE = 90; // milliseconds after the last key
const MOST = 100; // results on one page

let latest = new AbortController();
let response = null;
let usual = { key: "", response: null }; // the same question without changed settings
let openedByHand = false; // the document that is open is not simply the selected result

async function search() {
  latest.abort();
  const mine = (latest = new AbortController());
  const key = JSON.stringify([state.project, state.query, state.filters, state.mode, state.count]);
  if (!state.query.trim()) return void clear();
  results.age();
  answer.age();
  byId("working").hidden = false;
  try {
    const changed = Object.keys(state.changes).length > 0;
    const [found, before] = await Promise.all([api.search(state, mine.signal), changed && usual.key !== key ? api.search({ ...state, changes: {} }, mine.signal) : null, stages.ready()]);
    if (mine !== latest) return; // a newer question has been asked
    if (before || !changed) usual = { key, response: before ?? found };
    response = found;
    results.compareWith(changed ? usual.response : null);
    drawFound();
  } catch (error) {
    if (error.name !== "AbortError" && mine === latest) failed(error);
  } finally {
    if (mine === latest) byId("working").hidden = true;
  }
}

const searchSoon = debounced(search, PAUSE);

function clear() {
  response = null;
  answer.clear();
  results.clear();
  show(byId("notices"));
  show(byId("empty"), examples());
  filters.draw();
  byId("working").hidden = true;
  layOut();
}

function examples() {
  const words = ['"in this order"', "-without", "begin*", "tag:name", "path:folder"];
  return el("div", { class: "examples" }, el("div", { class: "chips" }, words.map((one) => el("code", { class: "chip" }, one))), el("p", {}, el("kbd", {}, "↓"), " ", el("kbd", {}, "↑"), " choose   ", el("kbd", {}, "Enter"), " read   ", el("kbd", {}, "?"), " all keys"));
}

function drawFound() {
  results.draw(response, hitOfOpen()?.id ?? results.current()?.id ?? "");
  show(byId("notices"), response.notices.map((notice) => el("p", { class: "notice" }, notice)));
  const wasMore = document.activeElement?.id === "more";
  show(byId("empty"), response.hits.length ? more() : nothing());
  if (wasMore) (byId("more") ?? byId("query")).focus({ preventScroll: true });
  filters.draw(response.hits);
  announce(response.hits.length ? `${counted(response.hits.length, "result")}. First: ${response.hits[0].title}` : "Nothing found.");
  layOut();
  if (response.hits.length && answer.isQuestion(state.query)) answerIt();
  else answer.clear();
  if (openedByHand && state.tab === "why") reader.open(null, response);
}

function more() {
  if (response.hits.length < state.count || state.count >= MOST) return null;
  return el("button", { type: "button", class: "quiet more", id: "more", on: { click: () => change({ count: Math.min(2 * state.count, MOST) }) } }, "More results");
}

/** Answers the question from the results; `wanted` by hand, for a query that does not look like one. */
function answerIt({ wanted = false } = {}) {
  if (response?.hits.length) answer.ask(state, (place) => results.select(place, { read: narrow() }), { wanted });
}

function nothing() {
  const reasons = results.keptOut(response.removed);
  const near = response.nearest.length ? "The results above are nearest, but below the threshold." : "Try other words, fewer filters, or look into the stages.";
  return [reasons.map((one) => el("p", { class: "notice" }, one)), el("p", { class: "nearest-title" }, near)];
}

function failed(error) {
  results.clear();
  answer.clear();
  response = null;
  show(byId("empty"));
  show(byId("notices"), el("p", { class: "notice bad", role: "alert" }, error.message, error.hint ? el("span", { class: "soft" }, ` ${error.hint}`) : null));
  layOut();
}

/** The result that the open document belongs to, if it is one. */
function hitOfOpen() {
  const own = response?.hits.filter((hit) => hit.document === state.open) ?? [];
  return own.find((hit) => hit.first_line === state.line) ?? (state.line ? null : own[0]) ?? null;
}

function chosen(hit, { read, drawn }) {
  if (!read && narrow()) return; // on a phone a document covers the results: only a tap opens it
  if (drawn && openedByHand && state.open) return;
  openedByHand = false;
  if (!change({ open: hit.document, line: hit.first_line }, { step: read })) reader.open(hit, response);
}

/** Which columns there are room and reason for. */
function layOut() {
  const graphed = state.view === "graph";
  const start = !graphed && !state.query.trim() && !state.open && byId("stages").hidden;
  document.body.classList.toggle("start", start);
  byId("search-view").hidden = graphed;
  byId("graph-view").hidden = !graphed;
  const columns = byId("columns");
  columns.classList.toggle("with-stages", !byId("stages").hidden);
  columns.classList.toggle("alone", !state.open);
  const host = graphed ? byId("graph-view") : columns;
  if (byId("reader").parentElement !== host) host.append(byId("reader"));
  for (const name of ["search", "graph"]) {
    if (state.view === name) byId(`view-${name}`).setAttribute("aria-current", "page");
    else byId(`view-${name}`).removeAttribute("aria-current");
  }
  document.title = state.query ? `${state.query} – dowse` : "dowse";
}

/** Goes to the graph, or back to the results with the selected one next to them. */
function go(view) {
  if (view === state.view) return;
  change(view === "graph" ? { view, open: "", line: 0 } : { view }, { step: true });
  const hit = results.current();
  if (view === "search" && !state.open && hit) chosen(hit, { read: false, drawn: true });
}

function toggleStages() {
  const panel = byId("stages");
  panel.hidden = !panel.hidden;
  byId("stages-toggle").setAttribute("aria-expanded", String(!panel.hidden));
  if (!panel.hidden) go("search");
  layOut();
}

async function changeProject() {
  usual = { key: "", response: null };
  graph.forget();
  status.refresh();
  if (state.view === "graph") graph.open();
  await stages
    .load()
    .then((told) => {
      filters.setModes(told.modes);
      filters.setFilters(told.filters);
    })
    .catch(failed);
}

function changed(names) {
  const any = (...wanted) => wanted.some((name) => names.has(name));
  if (names.has("query") && byId("query").value !== state.query) byId("query").value = state.query;
  if (names.has("project")) changeProject();
  if (names.has("changes")) stages.draw();
  if (any("filters", "mode")) filters.draw(response?.hits);
  if (any("query")) searchSoon();
  else if (any("project", "filters", "mode", "count", "changes")) search();
  if (any("open", "line", "tab", "project")) {
    const hit = hitOfOpen();
    openedByHand = Boolean(state.open) && !hit && !response?.nearest.some((one) => one.document === state.open);
    reader.open(hit, response);
    graph.mark(state.open || (results.current()?.document ?? ""));
  }
  if (names.has("view") && state.view === "graph") graph.open();
  layOut();
}

function askForToken(wasWrong) {
  const dialog = byId("token");
  byId("token-wrong").hidden = !wasWrong;
  if (!dialog.open) {
    dialog.returnValue = ""; // of the last time: Escape leaves it as it was
    byId("token-value").value = "";
    dialog.showModal();
  }
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "given" ? byId("token-value").value.trim() : null), { once: true });
  });
}

async function begin() {
  theme.start();
  filters.start();
  status.start();
  reader.start();
  keyboard.start({ stages: toggleStages, go, answer: () => answerIt({ wanted: true }) });
  results.onAnswer(() => answerIt({ wanted: true }));
  api.onTokenNeeded(askForToken);
  api.start();
  theme.onTheme(graph.redraw);
  status.onIndexed(() => {
    usual = { key: "", response: null };
    graph.forget();
    if (state.view === "graph") graph.open();
    search();
  });
  results.onChoose(chosen);
  byId("stages-toggle").addEventListener("click", toggleStages);
  byId("home").addEventListener("click", () => {
    change({ query: "", filters: [], mode: "", count: 10, open: "", line: 0, view: "search" });
    byId("query").focus();
  });
  for (const view of ["search", "graph"]) byId(`view-${view}`).addEventListener("click", () => go(view));
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("query").addEventListener("input", () => {
    openedByHand = false;
    change({ query: byId("query").value, count: 10 });
  });
  window.addEventListener("popstate", readAddress);
  clear();
  readAddress();
  openedByHand = Boolean(state.open);
  onChange(changed);
  try {
    state.project = await status.loadProjects();
  } catch (error) {
    return failed(error);
  }
  changed(new Set(["query", "project", "filters", "mode", "view", ...(state.open ? ["open"] : [])]));
  return undefined;
}

begin();
