// Switches for every stage of a search. A change holds for this page alone, and shows at once.

import * as api from "./api.js";
import { byId, counted, debounced, el, show, spoken } from "./dom.js";
import { change, state } from "./state.js";
import * as strategies from "./strategies.js";
import * as words from "./words.js";

const NOT_HERE = new Set(["search.mode", "search.top_n"]); // these have their own place on the page

let known = [];
let presets = {};
let loading = Promise.resolve();

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

/** Draws the switches as the state has them. */
export function draw() {
  const changed = Object.keys(state.changes);
  const count = byId("stages-count");
  count.hidden = !changed.length;
  count.textContent = changed.length;
  count.setAttribute("aria-label", counted(changed.length, "change"));
  const open = new Set([...byId("stages").querySelectorAll("details[open]")].map((one) => one.dataset.stage));
  const focused = document.activeElement?.id;
  show(byId("stages"), top(changed), [...grouped(known)].map(([name, settings]) => stage(name, settings, open)));
  if (focused?.startsWith("set-")) byId(focused)?.focus();
}

function grouped(settings) {
  const groups = new Map();
  for (const one of settings) groups.set(one.section, [...(groups.get(one.section) ?? []), one]);
  return groups;
}

function top(changed) {
  const back = el("button", { type: "button", class: "quiet", id: "stages-reset", disabled: !changed.length, on: { click: () => change({ changes: {} }) } }, "Reset");
  return el("div", { class: "stages-top" }, el("h2", {}, "Stages"), back);
}

/** A stage: its switch or its first figure at the top, the rest folded. */
function stage(name, settings, open) {
  const main = settings.find((one) => one.type === "boolean" && /\.(enabled|mmr)$/.test(one.name));
  const single = settings.length === 1 ? settings[0] : null;
  const lead = main ?? single;
  const others = settings.filter((one) => one !== lead);
  const changed = settings.some((one) => one.name in state.changes);
  return el(
    "fieldset",
    { class: changed ? "stage changed" : "stage" },
    el("legend", { class: "unseen" }, spoken(name)),
    el("div", { class: "stage-head" }, el("span", { class: "stage-name", "aria-hidden": "true" }, spoken(name)), lead && main ? control(lead, spoken(name)) : null),
    lead ? el("div", { class: "stage-meaning" }, lead.meaning) : null,
    single && !main ? el("div", { class: "option" }, el("span", {}, spoken(single.name.split(".")[1])), control(single, `${spoken(name)}: ${single.name.split(".")[1]}`)) : null,
    others.length ? folded(name, others, open) : null,
  );
}

function folded(name, settings, open) {
  const rows = settings.map((one) => {
    const label = spoken(one.name.split(".")[1]);
    return el("div", { class: "option" }, el("span", { "aria-hidden": "true" }, label), control(one, `${spoken(name)}: ${label}`), el("div", { class: "stage-meaning" }, one.meaning));
  });
  return el("details", { "data-stage": name, open: open.has(name) }, el("summary", {}, counted(settings.length, "option")), rows);
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
  const shared = { id: `set-${setting.name}`, "aria-label": label, title: setting.meaning };
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
