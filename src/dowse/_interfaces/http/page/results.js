// The list of results: what was found, where it is, and what has changed since the last settings.

import { byId, counted, el, marked, narrow, show, still, svg } from "./dom.js";
import { isGood } from "./nothing.js";
import { ALL, change, state } from "./state.js";
import { fill, inOrder } from "./strategies.js";

let hits = [];
let selected = -1;
let held = ""; // how the user has selected a result: by "key", by "pointer", or not at all
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

/** Its place in the list, from 0; -1 when none is selected. */
export const place = () => selected;

/** Remembers the order that changed settings are compared with; null forgets it. */
export function compareWith(response) {
  usual = response && new Map(response.hits.map((hit, place) => [hit.id, place]));
}

/** The id of the result that stays selected when the list is drawn again; empty: the first one is. */
export const kept = () => (held ? (current()?.id ?? "") : "");

/** Notes that the query changes. What an arrow key has selected stays selected as long as words are added or taken away. */
export function typed(before, after) {
  const isSame = before.trim() && after.trim() && (after.startsWith(before.trim()) || before.startsWith(after.trim()));
  if (held !== "key" || !isSame) held = "";
}

/** Draws a response and selects the result `keep`, otherwise the first; none when they are not `good`. */
export function draw(response, keep = "", { good = true } = {}) {
  hits = response.hits.length ? response.hits : response.nearest;
  const list = byId("results");
  const before = still() ? new Map() : positions(list);
  show(list, hits.map(card));
  list.classList.remove("old");
  list.classList.toggle("weak", response.no_good_match || !response.hits.length);
  list.hidden = !hits.length;
  slide(list, before);
  const place = hits.findIndex((hit) => hit.id === keep);
  if (place < 0) held = "";
  byId("query").setAttribute("aria-expanded", String(hits.length > 0));
  show(byId("summary"), summary(response), effect(response));
  select(hits.length && good ? Math.max(place, 0) : place, { drawn: true });
}

/** Empties the list. */
export function clear() {
  [hits, selected, held] = [[], -1, ""];
  show(byId("results"));
  byId("results").hidden = true;
  byId("query").setAttribute("aria-expanded", "false");
  byId("query").removeAttribute("aria-activedescendant");
  show(byId("summary"));
}

/** Dims the list while a newer answer is on its way. */
export const age = () => byId("results").classList.add("old");

/** Selects a result by its place; `read` opens it for reading, `drawn` says that nobody chose it. */
export function select(place, { read = false, drawn = false, by = "pointer" } = {}) {
  if (!drawn) held = by;
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
  if (hits.length) select(Math.min(Math.max(selected + by, 0), hits.length - 1), { by: "key" });
}

function card(hit, place) {
  const act = { click: () => select(place, { read: narrow() }), dblclick: () => select(place, { read: true }) };
  return el(
    "li",
    { id: `hit-${hit.id}`, class: "hit", role: "option", "aria-selected": "false", "data-id": hit.id, on: act },
    el("div", { class: "hit-top" }, title(hit), moved(hit, place), strength(hit)),
    el("div", { class: "hit-about" }, verdict(hit), el("span", { class: "hit-path", title: hit.path }, whereabouts(hit))),
    el("p", { class: "hit-snippet" }, marked(hit.snippet)),
    hit.tags.length ? el("div", { class: "hit-tags" }, hit.tags.map((tag) => `#${tag}`).join("  ")) : null,
    hit.stale ? el("div", { class: "stale" }, "The file has changed since it was indexed.") : null,
  );
}

/** The title of the document, and the heading that the match is below. */
function title(hit) {
  const heading = hit.header_path.at(-1);
  const below = heading && heading !== hit.title ? [el("span", { class: "soft" }, " › "), el("span", { class: "hit-heading" }, heading)] : null;
  return el("span", { class: "hit-line" }, el("span", { class: "hit-title" }, hit.title), below);
}

/** How well the result fits, and why. */
function verdict(hit) {
  if (!hit.match) return null;
  return el("span", { class: "hit-verdict" }, el("span", { class: `hit-match ${hit.match}` }, hit.match), hit.reason ? `: ${hit.reason}` : null);
}

/** Project where there are several, folder, line and other places. */
function whereabouts(hit) {
  const folder = hit.document.split("/").slice(0, -1).join("/") || hit.document;
  const others = hit.more.length ? el("span", { class: "hit-more" }, `${hit.more.length} more here`) : null;
  const parts = [state.project === ALL ? el("span", { class: "hit-project" }, hit.project) : null, el("span", { class: "hit-folder" }, folder), hit.page ? `p. ${hit.page}` : `line ${hit.line}`, others];
  return parts.filter(Boolean).flatMap((part, at) => (at ? [" · ", part] : [part]));
}

/** A bar as long as the score, 1 being all of it, in the colours of the strategies; the number is said on hover. */
function strength(hit) {
  const given = inOrder(hit.places).map((place) => [place.strategy, Math.max(place.contribution, 0)]);
  const total = given.reduce((sum, [, one]) => sum + one, 0);
  const score = Math.min(Math.max(hit.score, 0), 1);
  const shares = total ? given.map(([name, one]) => [name, one / total]) : [["", 1]];
  let from = 0;
  const parts = shares.map(([name, share]) => {
    const part = svg("rect", { x: from, y: 0, width: share * score * 100, height: 10, class: fill(name) });
    from += share * score * 100;
    return part;
  });
  const told = total ? shares.map(([name, share]) => `${name} ${Math.round(share * 100)}%`).join(", ") : "";
  const label = [`Strength ${score.toFixed(2)} of 1`, told].filter(Boolean).join(": ");
  return svg("svg", { class: "mini", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, svg("title", {}, label), svg("rect", { width: 100, height: 10, class: "track" }), parts);
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
  if (!isGood(response)) return []; // it is said above the list
  const seconds = Object.values(response.seconds).reduce((sum, one) => sum + one, 0);
  const parts = [el("span", { id: "found-count" }, `${amount(response)} in ${Math.max(1, Math.round(seconds * 1000))} ms`)];
  parts.push(el("button", { type: "button", class: "inline", id: "answer-ask", on: { click: () => answered() } }, "Answer from these"));
  if (response.merged) parts.push(el("span", {}, `${counted(response.merged, "duplicate")} left out`));
  return parts;
}

/** How many are shown, and of how many: `10 of 42 results`. */
function amount({ hits: shown, total, total_is_exact: exact }) {
  return total > shown.length ? `${shown.length} of ${exact ? "" : "at least "}${counted(total, "result")}` : counted(shown.length, "result");
}

/** What changed settings did to the order. */
function effect(response) {
  if (!usual) return null;
  const ids = new Set(response.hits.map((hit) => hit.id));
  const fresh = response.hits.filter((hit) => !usual.has(hit.id)).length;
  const gone = [...usual.keys()].filter((id) => !ids.has(id)).length;
  const others = response.hits.filter((hit, place) => usual.has(hit.id) && usual.get(hit.id) !== place).length;
  const told = [others && `${others} moved`, fresh && `${fresh} new`, gone && `${gone} gone`].filter(Boolean).join(", ");
  const undo = el("button", { type: "button", class: "inline", id: "changes-undo", on: { click: () => change({ changes: {} }) } }, "Undo");
  return [el("span", { class: "effect", id: "effect" }, told ? `Your changes: ${told}` : "Your changes do not change the order"), undo];
}

function positions(list) {
  return new Map([...list.children].map((one) => [one.dataset.id, one.getBoundingClientRect().top]));
}

/** Lets results glide from where they were to where they are. */
function slide(list, before) {
  for (const one of list.children) {
    const was = before.get(one.dataset.id);
    const by = was === undefined ? 0 : was - one.getBoundingClientRect().top;
    if (Math.abs(by) > 1) one.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
  }
}
