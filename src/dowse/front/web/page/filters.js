// Filters as chips: those that hold, a form to add one, and those that the results suggest.

import { byId, el, show } from "./dom.js";
import { addFilter, change, removeFilter, state } from "./state.js";

const SUGGESTED = 8;

let known = []; // the filters of the server: name, whether it can be repeated, an example

/** Prepares the chips. */
export function start() {
  byId("mode").addEventListener("change", () => change({ mode: byId("mode").value }));
  byId("filter-kind").addEventListener("change", example);
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
  if (open) byId("filter-value").focus();
  else if (was) byId("filter-add").focus();
  return was;
}

function example() {
  byId("filter-value").placeholder = chosenKind()?.example ?? "";
}

function apply() {
  const value = byId("filter-value").value;
  const kind = chosenKind();
  if (!value.trim() || !kind) return;
  byId("filter-value").value = "";
  addFilter(kind.name, value, { once: !kind.repeated });
  toggle(false);
}

/** Draws the chips that hold, and those that the results suggest. */
export function draw(hits = []) {
  drawMode();
  const within = ["filters", "facets"].some((id) => byId(id).contains(document.activeElement)); // it is drawn again
  show(byId("filters"), state.filters.map(({ kind, value }) => el("button", { type: "button", class: "chip on", "aria-label": `Remove filter ${kind} ${value}`, on: { click: () => removeFilter(kind, value) } }, `${kind}: ${value}`)));
  show(byId("facets"), suggested(hits).map(([kind, value]) => el("button", { type: "button", class: "chip facet", "aria-label": `Only ${kind} ${value}`, on: { click: () => addFilter(kind, value) } }, kind === "tag" ? `#${value}` : value)));
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
    .map(([name]) => name.split("\n"));
}
