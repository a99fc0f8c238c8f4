// The document next to the results: its text with the hit marked, why it is here, and what belongs to it.

import { actions } from "./actions.js";
import * as api from "./api.js";
import { byId, counted, el, markedWords, narrow, show } from "./dom.js";
import * as pictures from "./pictures.js";
import { drawRelated } from "./related.js";
import { adopt } from "./safe.js";
import { addFilter, change, CLOSED, home, state } from "./state.js";
import { drawWhy } from "./why.js";

const TABS = { document: "Document", why: "Why here?", related: "Related" };

let shown = { project: "", reference: "" };
let hit = null; // the result that is read; null for a document that was opened otherwise
let response = null; // the answer that the result belongs to
let asking = new AbortController();
let loading = false;
let wantsFocus = false; // once the document is there

/** Opens what the state names; `found` and `answer` are the result and the response it comes from. */
export async function open(found, answer) {
  [hit, response] = [found && found.document === state.open ? found : null, answer];
  const reader = byId("reader");
  const within = reader.contains(document.activeElement);
  reader.hidden = !state.open;
  if (!state.open) {
    if (within && !narrow()) byId("query").focus({ preventScroll: true });
    shown = { project: "", reference: "" };
    asking.abort();
    return;
  }
  asking.abort();
  asking = new AbortController();
  wantsFocus ||= within;
  const same = shown.reference === state.open && shown.project === home();
  if (!same && !shown.reference) show(reader, el("p", { class: "soft waiting" }, "Opening …"));
  loading = !same;
  try {
    const passage = same ? shown.passage : await api.documentOf(home(), state.open, asking.signal);
    shown = { ...shown, project: home(), reference: state.open, passage };
    loading = false;
    const focused = document.activeElement; // what is drawn again loses the focus
    drawWhole(reader, passage);
    const again = focused.role === "tab" ? byId(`tab-${state.tab}`) : focused.id.startsWith("set-") && byId(focused.id);
    if (again) again.focus({ preventScroll: true });
    else if (wantsFocus) focus();
    wantsFocus &&= !again;
  } catch (error) {
    if (error.name === "AbortError") return;
    shown = { project: "", reference: "" };
    [loading, wantsFocus] = [false, false];
    show(reader, closing(), el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
  }
}

function closing() {
  return el("button", { type: "button", class: "quiet close", "aria-label": "Close the document", on: { click: () => change(CLOSED) } }, narrow() ? "‹ Results" : "×");
}

function drawWhole(reader, passage) {
  const tags = hit?.tags ?? [];
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "About this document" }, Object.keys(TABS).map(tab));
  const down = shown.tab === "why" && state.tab === "why" ? byId("reader-body")?.scrollTop : 0; // a switch redraws it
  shown.tab = state.tab;
  const body = el("div", { id: "reader-body", class: "reader-body", role: "tabpanel", "aria-labelledby": `tab-${state.tab}`, tabindex: "0" });
  show(
    reader,
    el("div", { class: "reader-top" }, el("h2", {}, passage.title), closing()),
    el("p", { class: "reader-path" }, passage.document, hit?.page ? ` · p. ${hit.page}` : hit ? ` · ${lines(hit)} of ${passage.total_lines}` : ` · ${counted(passage.total_lines, "line")}`, hit?.more.length ? elsewhere(hit.more.slice(0, 5)) : null),
    tags.length
      ? el("div", { class: "chips" }, tags.map((name) => el("button", { type: "button", class: "chip facet", "aria-label": `Only tag ${name}`, on: { click: () => addFilter("tag", name) } }, `#${name}`)))
      : null,
    actions(passage, hit, state.line),
    tabs,
    body,
  );
  drawTab(body, passage);
  if (down) body.scrollTop = down;
}

function tab(name) {
  const on = name === state.tab;
  const act = {
    click: () => change({ tab: name }),
    keydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.stopPropagation();
      const names = Object.keys(TABS);
      change({ tab: names[(names.indexOf(name) + by + names.length) % names.length] });
      byId(`tab-${state.tab}`)?.focus();
    },
  };
  return el("button", { type: "button", id: `tab-${name}`, role: "tab", class: "tab", "aria-selected": String(on), "aria-controls": "reader-body", tabindex: on ? "0" : "-1", on: act }, TABS[name]);
}

/** Pictures are drawn for the room there is, and again when that changes. */
export function start() {
  let wide = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const changed = wide && Math.abs(contentRect.width - wide) > 4;
    wide = contentRect.width;
    if (changed && state.tab === "why" && hit && byId("reader-body")) drawWhy(byId("reader-body"), hit, response);
  }).observe(byId("reader"));
}

function drawTab(body, passage) {
  if (state.tab === "why") drawWhy(body, hit, response);
  else if (state.tab === "related") drawRelated(body, openReference);
  else drawText(body, passage);
}

function drawText(body, passage) {
  const text = passage.html
    ? el("article", { class: "prose" }, adopt(passage.html, follow))
    : el("pre", { class: "plain" }, passage.text);
  show(body, text);
  pictures.load(text, home(), passage.document);
  // What scrolls sideways must be reachable with keys.
  for (const wide of text.querySelectorAll("pre, table")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  const first = hit ? markHit(text) : lineOf(text, state.line);
  scrollTo(body, first);
}

/** Follows a link of a document: to another one, or to a heading of this one. */
function follow(reference, anchor) {
  if (reference && reference !== state.open) openReference(reference);
  else if (anchor) scrollTo(byId("reader-body"), headingOf(byId("reader-body"), anchor));
}

function headingOf(body, anchor) {
  const letters = (value) => value.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  return [...body.querySelectorAll("h1, h2, h3, h4, h5, h6")].find((one) => letters(one.textContent) === letters(anchor)) ?? null;
}

/** Only the document moves: the page next to it stays where the user has it. */
function scrollTo(body, block) {
  body.scrollTop = block ? body.scrollTop + block.getBoundingClientRect().top - body.getBoundingClientRect().top - 48 : 0;
}

/** Lines, as people name them: `line 8`, `lines 8–66`. */
const lines = ({ first_line: first, last_line: last }) => (first === last ? `line ${first}` : `lines ${first}–${last}`);

/** Buttons that lead to other places of the document that match, in their order. */
function elsewhere(places) {
  const ordered = [...places].sort((a, b) => a.first_line - b.first_line);
  const separator = (at) => (at ? (at === ordered.length - 1 ? " and " : ", ") : " · also ");
  return ordered.map((place, at) => {
    const act = { click: () => change({ line: place.first_line, tab: "document" }, { step: true }) };
    return [separator(at), el("button", { type: "button", class: "inline", on: act }, lines(place))];
  });
}

function openReference(reference) {
  change({ open: reference, line: 0, tab: "document" }, { step: true });
}

/** Signs of scripts that put no blanks between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** A pattern for a whole word. */
function whole(word) {
  const sign = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return UNSPACED.test(word) ? sign : `(?<![\\p{L}\\p{N}_])${sign}(?![\\p{L}\\p{N}_])`;
}

/** Marks the blocks of the hit and its words; gives the first block. */
function markHit(text) {
  const blocks = blocksOfHit(text);
  for (const block of blocks) block.classList.add("of-hit");
  const words = markedWords(hit.snippet);
  if (words.length) for (const block of blocks) markWords(block, words);
  return blocks[0];
}

function blocksOfHit(text) {
  const numbered = [...text.querySelectorAll("[data-first-line]")].filter((one) => !one.querySelector("[data-first-line]"));
  return numbered.filter((one) => Number(one.dataset.lastLine) >= hit.first_line && Number(one.dataset.firstLine) <= hit.last_line);
}

function lineOf(text, line) {
  if (!line) return null;
  return [...text.querySelectorAll("[data-first-line]")].filter((one) => Number(one.dataset.firstLine) <= line).at(-1) ?? null;
}

function markWords(block, words) {
  const pattern = new RegExp(words.map(whole).join("|"), "giu");
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const pieces = [];
    let from = 0;
    for (const match of node.data.matchAll(pattern)) {
      pieces.push(node.data.slice(from, match.index), el("mark", {}, match[0]));
      from = match.index + match[0].length;
    }
    if (pieces.length) node.replaceWith(...pieces, node.data.slice(from));
  }
}

/** Moves into the document, to read it with the keyboard. */
export function focus() {
  wantsFocus = loading;
  if (!loading) byId("reader-body")?.focus({ preventScroll: true });
}
