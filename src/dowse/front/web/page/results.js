// The list of results: what was found, where it stands, and what has changed since the last settings.

import { byId, counted, el, marked, narrow, show, spoken, still, svg } from "./dom.js";
import { fill, inOrder } from "./strategies.js";

let hits = [];
let selected = -1;
let chosen = () => {};
let answered = () => {};
let usual = null; // ids of the results under the settings that hold, by place

/** Says what is done when a result is chosen: `act(hit, { read, drawn })`. */
export function onChoose(act) {
  chosen = act;
}

/** Says what is done when an answer is asked for. */
export function onAnswer(act) {
  answered = act;
}

/** The result that is selected now. */
export const current = () => hits[selected] ?? null;

/** Remembers the order that changed settings are compared with; null forgets it. */
export function compareWith(response) {
  usual = response && new Map(response.hits.map((hit, place) => [hit.id, place]));
}

/** Draws a response, and selects the result that was selected before, else the first. */
export function draw(response, keep = "") {
  hits = response.hits.length ? response.hits : response.nearest;
  const list = byId("results");
  const before = still() ? new Map() : positions(list);
  show(list, hits.map(card));
  list.classList.remove("old");
  list.hidden = !hits.length;
  slide(list, before);
  const kept = hits.findIndex((hit) => hit.id === keep);
  byId("query").setAttribute("aria-expanded", String(hits.length > 0));
  show(byId("summary"), summary(response), effect(response));
  select(hits.length ? Math.max(kept, 0) : -1, { drawn: true });
}

/** Empties the list. */
export function clear() {
  [hits, selected] = [[], -1];
  show(byId("results"));
  byId("results").hidden = true;
  byId("query").setAttribute("aria-expanded", "false");
  byId("query").removeAttribute("aria-activedescendant");
  show(byId("summary"));
}

/** Dims the list while a newer answer is on its way. */
export const age = () => byId("results").classList.add("old");

/** Selects a result by its place; `read` opens it for reading, `drawn` says that nobody chose it. */
export function select(place, { read = false, drawn = false } = {}) {
  selected = place < 0 ? -1 : Math.min(place, hits.length - 1);
  const cards = [...byId("results").children];
  cards.forEach((one, at) => one.setAttribute("aria-selected", String(at === selected)));
  const one = cards[selected];
  if (!one) {
    byId("query").removeAttribute("aria-activedescendant");
    return;
  }
  byId("query").setAttribute("aria-activedescendant", one.id);
  if (!drawn) one.scrollIntoView({ block: "nearest", behavior: still() ? "auto" : "smooth" });
  chosen(hits[selected], { read, drawn });
}

/** Selects the next result, or with -1 the previous. */
export function move(by) {
  if (hits.length) select(Math.min(Math.max(selected + by, 0), hits.length - 1));
}

function card(hit, place) {
  const headings = hit.header_path[0] === hit.title ? hit.header_path.slice(1) : hit.header_path;
  const act = { click: () => select(place, { read: narrow() }), dblclick: () => select(place, { read: true }) };
  return el(
    "li",
    { id: `hit-${hit.id}`, class: "hit", role: "option", "aria-selected": "false", "data-id": hit.id, on: act },
    el("div", { class: "hit-top" }, el("span", { class: "hit-title" }, hit.title), moved(hit, place), el("span", { class: "hit-score" }, mini(hit), el("span", { class: "hit-number" }, hit.score.toFixed(2)))),
    el("div", { class: "hit-path" }, `${hit.document}:${hit.line}`, headings.map((one) => [" › ", el("b", {}, one)])),
    el("p", { class: "hit-snippet" }, marked(hit.snippet)),
    hit.more.length ? el("div", { class: "hit-more" }, `${hit.more.length} more here: lines ${hit.more.slice(0, 5).map(lines).join(", ")}${hit.more.length > 5 ? ", …" : ""}`) : null,
    hit.tags.length ? el("div", { class: "hit-tags" }, hit.tags.map((tag) => `#${tag}`).join("  ")) : null,
    hit.stale ? el("div", { class: "stale" }, "The file has changed since it was indexed.") : null,
  );
}

/** The lines of another place of the document. */
const lines = (place) => `${place.first_line}–${place.last_line}`;

/** A small bar: how much each strategy gave to the score. */
function mini(hit) {
  const total = hit.places.reduce((sum, place) => sum + Math.max(place.contribution, 0), 0);
  if (!total) return null;
  let from = 0;
  const parts = inOrder(hit.places).map((place) => {
    const wide = (Math.max(place.contribution, 0) / total) * 100;
    from += wide;
    return svg("rect", { x: from - wide, y: 0, width: wide, height: 10, class: fill(place.strategy) });
  });
  const told = hit.places.map((place) => `${place.strategy} ${Math.round((place.contribution / total) * 100)}%`).join(", ");
  return svg("svg", { class: "mini", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": told }, svg("title", {}, told), parts);
}

function moved(hit, place) {
  if (!usual) return null;
  const was = usual.get(hit.id);
  if (was === undefined) return el("span", { class: "hit-move" }, "new");
  if (was === place) return null;
  const by = was - place;
  return el("span", { class: "hit-move", title: `Was ${was + 1}.` }, by > 0 ? `▲ ${by}` : `▼ ${-by}`);
}

function summary(response) {
  const seconds = Object.values(response.seconds).reduce((sum, one) => sum + one, 0);
  const count = response.hits.length ? counted(response.hits.length, "result") : "Nothing found";
  const parts = [el("span", {}, `${count} in ${Math.max(1, Math.round(seconds * 1000))} ms`)];
  if (response.hits.length) parts.push(el("button", { type: "button", class: "inline", id: "answer-ask", on: { click: () => answered() } }, "Answer from these"));
  if (response.merged) parts.push(el("span", {}, `${response.merged} stand for others that mean the same`));
  return parts;
}

/** What changed settings did to the order. */
function effect(response) {
  if (!usual) return null;
  const ids = new Set(response.hits.map((hit) => hit.id));
  const fresh = response.hits.filter((hit) => !usual.has(hit.id)).length;
  const gone = [...usual.keys()].filter((id) => !ids.has(id)).length;
  const others = response.hits.filter((hit, place) => usual.has(hit.id) && usual.get(hit.id) !== place).length;
  const told = [others && `${others} moved`, fresh && `${fresh} new`, gone && `${gone} gone`].filter(Boolean).join(", ");
  return el("span", { class: "effect", id: "effect" }, told ? `Effect of your changes: ${told}` : "Your changes leave the order as it is");
}

/** Which conditions kept results out, when nothing was found. */
export function keptOut(removed) {
  return Object.entries(removed).map(([condition, count]) => `${spoken(condition)} keeps out ${counted(count, "passage")}.`);
}

function positions(list) {
  return new Map([...list.children].map((one) => [one.dataset.id, one.getBoundingClientRect().top]));
}

/** Lets results glide from where they stood to where they stand. */
function slide(list, before) {
  for (const one of list.children) {
    const was = before.get(one.dataset.id);
    const by = was === undefined ? 0 : was - one.getBoundingClientRect().top;
    if (Math.abs(by) > 1) one.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
  }
}
