// What the page shows before anything is searched: where to begin.

import * as catalogue from "./catalogue.js";
import { byId, counted, el, show } from "./dom.js";
import * as recent from "./recent.js";
import { ALL, change, state } from "./state.js";

const LISTED = 6;
const OPERATORS = ['"these words in order"', "-without", "begin*", "tag:name", "path:folder"];

/** Draws the start: recent searches, new and well linked documents, questions that their headings ask. */
export async function draw() {
  const host = byId("empty");
  show(host, el("div", { class: "begin", id: "begin" }, searched()), operators());
  const project = state.project;
  const [changed, linked] = await Promise.all([catalogue.documents("modified", LISTED), catalogue.documents("links", LISTED)]);
  const begin = byId("begin");
  if (!begin || state.query.trim() || project !== state.project) return;
  const known = linked.filter((one) => one.links_in > 0);
  const asked = el("div", { class: "begin-questions" });
  show(begin, searched(), group("Recently changed", changed, (one) => ago(one.modified)), group("Most linked", known, (one) => counted(one.links_in, "link")), asked);
  const questions = await catalogue.questions([...known, ...changed]);
  if (questions.length) show(asked, section("Questions your documents answer", questions.map((query) => row(query, "", () => ask(query)))));
}

function group(title, documents, said) {
  return documents.length ? section(title, documents.map((one) => row(one.title, [folder(one), said(one)].filter(Boolean).join(" · "), () => open(one)))) : null;
}

function section(title, rows, extra = null) {
  return el("section", { class: "begin-group" }, el("div", { class: "begin-top" }, el("h2", {}, title), extra), el("ul", {}, rows.map((one) => el("li", {}, one))));
}

function row(text, said, act) {
  return el("button", { type: "button", class: "begin-row", on: { click: act } }, el("span", { class: "begin-text" }, text), said ? el("span", { class: "soft" }, said) : null);
}

/** Where a document is: its project where several are searched, and its folder. */
function folder(one) {
  const above = one.id.split("/").slice(0, -1).join("/");
  return [state.project === ALL ? one.project : "", above].filter(Boolean).join(": ");
}

function open(one) {
  change({ open: one.id, line: 0, of: state.project === ALL ? one.project : "", tab: "document" }, { step: true });
}

function ask(query) {
  change({ query });
  byId("query").focus();
}

function searched() {
  const queries = recent.searches();
  if (!queries.length) return null;
  const clear = el("button", { type: "button", class: "inline", id: "recent-clear", on: { click: () => (recent.clear(), draw()) } }, "Clear");
  return section("Recent searches", queries.map((query) => row(query, "", () => ask(query))), clear);
}

function operators() {
  return el("div", { class: "examples" }, el("div", { class: "chips" }, OPERATORS.map((one) => el("code", { class: "chip" }, one))), el("p", {}, el("kbd", {}, "↓"), " ", el("kbd", {}, "↑"), " select   ", el("kbd", {}, "Enter"), " read   ", el("kbd", {}, "?"), " all keys and operators"));
}

const STEPS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60]];

/** How long ago a moment was, in words. */
function ago(moment) {
  const seconds = (Date.now() - Date.parse(moment)) / 1000;
  if (!Number.isFinite(seconds)) return "";
  const [unit, size] = STEPS.find((one) => seconds >= one[1]) ?? ["minute", 60];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.floor(seconds / size), unit);
}
