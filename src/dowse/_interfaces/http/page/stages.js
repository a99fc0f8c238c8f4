// Switches for every stage of a search, below "Why here?". A change holds for this page alone, and shows at once.

import * as api from "./api.js";
import { byId, counted, debounced, el, show, spoken } from "./dom.js";
import { change, state } from "./state.js";
import * as strategies from "./strategies.js";
import * as words from "./words.js";

const NOT_HERE = new Set(["search.mode", "search.top_n"]); // these have their own place on the page

let known = [];
let presets = {};
let loading = Promise.resolve();
let isOpen = false;

/** Asks for the settings of a project. */
export function load(project) {
  loading = ask(project);
  return loading;
}

/** Settles once the settings have come, or could not be had. */
export const ready = () => loading.catch(() => null);

async function ask(project) {
  const told = await api.settings(project);
  known = told.settings.filter((one) => !NOT_HERE.has(one.name));
  presets = told.presets;
  strategies.set(told.strategies);
  words.set(told);
  draw();
  return told;
}

/** The place of the switches. */
export function panel() {
  const place = el("details", { id: "stages", class: "stages", open: isOpen, on: { toggle: () => (isOpen = place.open) } });
  fill(place);
  return place;
}

/** Opens the switches or closes them, where they are shown. */
export function toggle(open = !isOpen) {
  isOpen = open;
  const place = byId("stages");
  if (!place) return;
  place.open = open;
  if (open) place.scrollIntoView({ block: "start" });
}

/** Draws the switches as the state has them, where they are shown. */
export function draw() {
  const place = byId("stages");
  const focused = document.activeElement?.id;
  if (!place) return;
  fill(place);
  if (focused?.startsWith("set-")) byId(focused)?.focus({ preventScroll: true }); // what is drawn again loses it
}

const unfolded = new Set(); // the stages whose options are shown

function fill(place) {
  const changed = Object.keys(state.changes);
  const count = changed.length ? el("span", { class: "count", id: "stages-count", "aria-label": counted(changed.length, "change") }, changed.length) : null;
  show(place, el("summary", {}, "Change how the search works", count), top(changed), [...grouped(known)].map(([name, settings]) => stage(name, settings)));
}

function grouped(settings) {
  const groups = new Map();
  for (const one of settings) groups.set(one.section, [...(groups.get(one.section) ?? []), one]);
  return groups;
}

function top(changed) {
  const back = el("button", { type: "button", class: "quiet", id: "stages-reset", disabled: !changed.length, on: { click: () => change({ changes: {} }) } }, "Undo all");
  return el("div", { class: "stages-top" }, el("p", { class: "soft" }, "Changes show at once, and hold for this page alone."), back);
}

/** A stage: its switch or its only option at the top, the rest folded. */
function stage(name, settings) {
  const lead = settings.find((one) => one.type === "boolean" && /\.(enabled|mmr)$/.test(one.name)) ?? (settings.length === 1 ? settings[0] : null);
  const others = settings.filter((one) => one !== lead);
  const changed = settings.some((one) => one.name in state.changes);
  return el(
    "fieldset",
    { class: changed ? "stage changed" : "stage" },
    el("legend", { class: "unseen" }, words.ofStage(name)),
    el("div", { class: "stage-head" }, el("span", { class: "stage-name", "aria-hidden": "true" }, words.ofStage(name)), lead ? control(lead, words.ofStage(name)) : null),
    lead ? el("div", { class: "stage-meaning" }, lead.meaning) : null,
    others.length ? folded(name, others) : null,
  );
}

function folded(name, settings) {
  const rows = settings.map((one) => el("div", { class: "option" }, el("span", { class: "stage-meaning", "aria-hidden": "true" }, one.meaning), control(one, `${words.ofStage(name)}: ${spoken(one.name.split(".")[1])}`)));
  const note = () => unfolded[place.open ? "add" : "delete"](name);
  const place = el("details", { "data-stage": name, open: unfolded.has(name), on: { toggle: note } }, el("summary", {}, counted(settings.length, "option")), rows);
  return place;
}

/** The value without a change of its own: the chosen preset's, else the project's. */
const usual = (setting) => presets[state.changes["search.preset"]]?.[setting.name] ?? setting.value;

function set(setting, value) {
  const changes = { ...state.changes };
  if (String(value) === String(usual(setting))) delete changes[setting.name];
  else changes[setting.name] = String(value);
  change({ changes });
}

function control(setting, label) {
  const shared = { id: `set-${setting.name}`, "aria-label": label, title: setting.name };
  const value = String(state.changes[setting.name] ?? usual(setting));
  const now = (event) => set(setting, event.target.type === "checkbox" ? event.target.checked : event.target.value);
  if (setting.type === "boolean") return el("input", { ...shared, type: "checkbox", role: "switch", class: "switch", checked: value === "true", on: { change: now } });
  if (setting.type === "choice") {
    const choices = setting.choices.includes(value) ? setting.choices : ["", ...setting.choices];
    return el("select", { ...shared, on: { change: now } }, choices.map((one) => el("option", { value: one, selected: one === value }, one || "none")));
  }
  const later = debounced((field) => field.value !== "" && field.checkValidity() && set(setting, field.value), 250);
  const number = setting.type === "string" ? { type: "text" } : { type: "number", min: 0, step: setting.type === "integer" ? 1 : "any" };
  return el("input", { ...shared, ...number, value, on: { input: (event) => later(event.target) } });
}
