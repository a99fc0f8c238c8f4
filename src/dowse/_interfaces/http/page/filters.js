// Filters as chips: those that hold, a form to add one, and those that the results suggest.

import * as catalogue from "./catalogue.js";
import { byId, counted, el, show } from "./dom.js";
import { addFilter, change, removeFilter, state } from "./state.js";

const SUGGESTED = 6;
const LISTED = 40; // values of a filter that are shown at once
const DATES = { after: ["today", "7d", "30d", "1y"], before: ["7d", "30d", "1y"] };

let known = []; // the filters of the server: name, whether it can be repeated, an example

/** Prepares the chips. */
export function start() {
  byId("mode").addEventListener("change", () => change({ mode: byId("mode").value }));
  byId("filter-kind").addEventListener("change", () => (example(), list()));
  byId("filter-value").addEventListener("input", list);
  byId("filter-add").addEventListener("click", () => toggle(byId("filter-form").hidden));
  byId("filter-apply").addEventListener("click", apply);
  byId("filter-value").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      apply();
    }
  });
}

/** Offers the filters that the server has. */
export function setFilters(filters) {
  known = filters;
  show(byId("filter-kind"), known.map(({ name, meaning }) => el("option", { value: name, title: meaning }, name)));
  example();
}

const chosenKind = () => known.find(({ name }) => name === byId("filter-kind").value);

/** Offers the modes of search that the server has; the first is the default. */
export function setModes(modes) {
  show(byId("mode"), modes.map(({ name, label, meaning }, at) => el("option", { value: at ? name : "", title: meaning }, label)));
  drawMode();
}

function drawMode() {
  const choices = [...byId("mode").options].map((one) => one.value);
  byId("mode").value = choices.includes(state.mode) ? state.mode : "";
}

/** Opens or closes the form; whether it was open. */
export function toggle(open) {
  const was = !byId("filter-form").hidden;
  byId("filter-form").hidden = !open;
  byId("filter-add").setAttribute("aria-expanded", String(open));
  if (open) list();
  if (open) byId("filter-value").focus();
  else if (was) byId("filter-add").focus();
  return was;
}

function example() {
  byId("filter-value").placeholder = chosenKind()?.example ?? "";
}

function apply() {
  take(byId("filter-value").value);
}

function take(value) {
  const kind = chosenKind();
  if (!value.trim() || !kind) return;
  byId("filter-value").value = "";
  addFilter(kind.name, value, { once: !kind.repeated });
  toggle(false);
}

/** Lists the values of the chosen filter that hold what has been typed, each with its count. */
async function list() {
  const kind = chosenKind();
  const rows = kind ? await valuesOf(kind) : [];
  if (kind !== chosenKind() || byId("filter-form").hidden) return;
  const typed = byId("filter-value").value.trim().toLowerCase();
  const fitting = rows.filter(({ value }) => value.toLowerCase().includes(typed));
  const left = fitting.length - LISTED;
  show(byId("filter-values"), fitting.slice(0, LISTED).map(valueChip), left > 0 ? el("span", { class: "soft" }, `and ${left} more; type to find one`) : null);
}

function valuesOf(kind) {
  if (DATES[kind.name]) return DATES[kind.name].map((value) => ({ value }));
  return catalogue.values(kind.name);
}

function valueChip({ value, count }) {
  const told = count === undefined ? value : `${value}, ${counted(count, "document")}`;
  return el("button", { type: "button", class: "chip value", "aria-label": told, on: { click: () => take(value) } }, value, count === undefined ? null : el("span", { class: "tally" }, count.toLocaleString("en")));
}

/** Draws the chips that hold, and those that the results suggest. */
export function draw(hits = []) {
  drawMode();
  const within = ["filters", "facets"].some((id) => byId(id).contains(document.activeElement)); // it is drawn again
  show(byId("filters"), state.filters.map(({ kind, value }) => el("button", { type: "button", class: "chip on", "aria-label": `Remove filter ${kind} ${value}`, on: { click: () => removeFilter(kind, value) } }, `${kind}: ${value}`)));
  show(byId("facets"), suggested(hits).map(([kind, value, number]) => el("button", { type: "button", class: "chip facet", "aria-label": `Only ${kind} ${value}, ${counted(number, "result")}`, on: { click: () => addFilter(kind, value) } }, kind === "tag" ? `#${value}` : value, el("span", { class: "tally" }, number))));
  if (within) byId("filter-add").focus({ preventScroll: true });
}

/** Folders and tags that some of the results have, and not all: choosing one makes a difference. */
function suggested(hits) {
  const counts = new Map();
  const count = (kind, value) => counts.set(`${kind}\n${value}`, (counts.get(`${kind}\n${value}`) ?? 0) + 1);
  for (const hit of hits) {
    for (const tag of hit.tags) count("tag", tag);
    if (hit.document.includes("/")) count("path", hit.document.slice(0, hit.document.indexOf("/") + 1));
  }
  const chosen = new Set(state.filters.map(({ kind, value }) => `${kind}\n${value}`));
  return [...counts]
    .filter(([name, number]) => !chosen.has(name) && number < hits.length)
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
    .slice(0, SUGGESTED)
    .map(([name, number]) => [...name.split("\n"), number]);
}
