// Puts the rooms of the page together: what changes in the state is asked for and drawn.

import * as answer from "./answer.js";
import * as api from "./api.js";
import * as catalogue from "./catalogue.js";
import * as connection from "./connection.js";
import { announce, byId, counted, debounced, el, narrow, show } from "./dom.js";
import * as filters from "./filters.js";
import * as graph from "./graph.js";
import * as keyboard from "./keyboard.js";
import * as layout from "./layout.js";
import { isAsked, layOut } from "./layout.js";
import * as nothing from "./nothing.js";
import * as projects from "./projects.js";
import * as reader from "./reader.js";
import * as recent from "./recent.js";
import * as results from "./results.js";
import * as stages from "./stages.js";
import * as begin from "./start.js";
import { change, CLOSED, home, onChange, placed, readAddress, state } from "./state.js";
import * as status from "./status.js";
import * as theme from "./theme.js";
import * as token from "./token.js";

const PAUSE = 90; // milliseconds after the last key
const SETTLED = 1500; // milliseconds after which a query is one that was meant
const MOST = 100; // results on one page

let latest = new AbortController();
let response = null;
let usual = { key: "", response: null }; // the same question without changed settings
let openedByHand = false; // the document that is open is not simply the selected result

async function search() {
  latest.abort();
  const mine = (latest = new AbortController());
  const key = JSON.stringify([state.project, state.query, state.filters, state.mode, state.count]);
  if (projects.isUnknown()) return void projects.sayUnknown();
  if (!isAsked()) return void clear();
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
const noteSoon = debounced((query) => query === state.query && recent.note(query), SETTLED);

function clear() {
  response = null;
  answer.clear();
  results.clear();
  show(byId("notices"));
  begin.draw();
  filters.draw();
  byId("working").hidden = true;
  if (!openedByHand) change(CLOSED);
  layOut();
}

function drawFound() {
  const good = nothing.isGood(response);
  const hit = hitOfOpen();
  const keep = openedByHand ? (hit?.id ?? "") : results.kept();
  if (hit) openedByHand = false; // it is a result like others
  results.draw(response, keep, { good: good || Boolean(hit && keep) });
  if (!good && !openedByHand && !results.current()) change(CLOSED);
  show(byId("notices"), nothing.above(response));
  const wasMore = document.activeElement?.id === "more";
  show(byId("empty"), more());
  if (wasMore) (byId("more") ?? byId("query")).focus({ preventScroll: true });
  filters.draw(response.hits);
  announce(good ? `${counted(response.hits.length, "result")}. First: ${response.hits[0].title}` : byId("no-match").textContent);
  layOut();
  if (nothing.isStrong(response) && answer.isQuestion(state.query)) answerIt();
  else answer.clear();
  if (good) noteSoon(state.query);
  if (openedByHand && state.tab === "why") reader.open(null, response);
}

function more() {
  const left = response.total > response.hits.length || !response.total_is_exact;
  if (!response.hits.length || !left || state.count >= MOST) return null;
  return el("button", { type: "button", class: "quiet more", id: "more", on: { click: () => change({ count: Math.min(2 * state.count, MOST) }) } }, "More results");
}

/** Answers the question from the results; `wanted` by hand, for a query that does not look like one. */
function answerIt({ wanted = false } = {}) {
  if (response?.hits.length) answer.ask(state, (place) => results.select(place, { read: narrow() }), { wanted });
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
  const own = response?.hits.filter((hit) => hit.document === state.open && hit.project === (state.of || hit.project)) ?? [];
  return own.find((hit) => hit.first_line === state.line) ?? (state.line ? null : own[0]) ?? null;
}

function chosen(hit, { read, drawn }) {
  if (!read && narrow()) return; // on a phone a document covers the results: only a tap opens it
  if (drawn && openedByHand && state.open) return;
  openedByHand = false;
  if (read) recent.note(state.query);
  if (!change(placed(hit), { step: read })) reader.open(hit, response);
}

/** Goes to the graph, or back to the results with the selected one next to them. */
function go(view) {
  if (view === state.view) return;
  change(view === "graph" ? { view, ...CLOSED } : { view }, { step: true });
  const hit = results.current();
  if (view === "search" && !state.open && hit) chosen(hit, { read: false, drawn: true });
}

/** Opens the stages below "Why here?" of the selected result, or closes them. */
function toggleStages() {
  if (state.view !== "search") go("search");
  if (!state.open && results.current() === null) results.select(0);
  if (!state.open) return;
  stages.toggle(state.tab === "why" ? undefined : true);
  change({ tab: "why" });
}

async function changeProject() {
  usual = { key: "", response: null };
  projects.draw();
  graph.forget();
  if (projects.isUnknown()) return;
  status.refresh();
  if (state.view === "graph") graph.open();
  try {
    const told = await stages.load(catalogue.searched()[0]);
    filters.setModes(told.modes);
    filters.setFilters(told.filters);
  } catch (error) {
    failed(error);
  }
}

function changed(names) {
  const any = (...wanted) => wanted.some((name) => names.has(name));
  if (names.has("query") && byId("query").value !== state.query) byId("query").value = state.query;
  if (names.has("project")) changeProject();
  if (names.has("changes")) stages.draw();
  if (any("filters", "mode")) filters.draw(response?.hits);
  if (any("open", "of", "line", "tab", "project")) {
    const hit = hitOfOpen();
    const fromAddress = names.has("open") && names.has("query"); // nothing else changes both
    openedByHand = Boolean(state.open) && (fromAddress || !hit) && !response?.nearest.some((one) => one.document === state.open);
    reader.open(hit, response);
    graph.mark(state.open ? { document: state.open, project: home() } : results.current());
  }
  if (any("query")) searchSoon();
  else if (any("project", "filters", "mode", "count", "changes")) search();
  if (names.has("view") && state.view === "graph") graph.open();
  layOut();
}

/** Asks for everything again, as when the page is opened or the server is back. */
async function load() {
  try {
    await projects.load();
  } catch (error) {
    return failed(error);
  }
  changed(new Set(["query", "project", "filters", "mode", "view", ...(state.open ? ["open"] : [])]));
  return undefined;
}

function indexed() {
  usual = { key: "", response: null };
  catalogue.forget();
  graph.forget();
  if (state.view === "graph") graph.open();
  search();
}

function wire() {
  keyboard.start({ stages: toggleStages, go, answer: () => answerIt({ wanted: true }) });
  results.onAnswer(() => answerIt({ wanted: true }));
  api.onTokenNeeded(token.ask);
  theme.onTheme(graph.redraw);
  status.onIndexed(indexed);
  results.onChoose(chosen);
  byId("home").addEventListener("click", () => {
    change({ query: "", filters: [], mode: "", count: 10, ...CLOSED, view: "search" });
    byId("query").focus();
  });
  for (const view of ["search", "graph"]) byId(`view-${view}`).addEventListener("click", () => go(view));
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("query").addEventListener("input", () => {
    openedByHand = false;
    results.typed(state.query, byId("query").value);
    change({ query: byId("query").value, count: 10 });
  });
  window.addEventListener("popstate", readAddress);
  connection.start((away) => (away ? status.sayAway() : load()));
}

for (const room of [theme, filters, status, projects, reader, layout]) room.start();
wire();
api.start();
readAddress();
openedByHand = Boolean(state.open);
layOut();
onChange(changed);
load();
