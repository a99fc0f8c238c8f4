// The choice of the project, and what is said when the address names one that is not here.

import * as api from "./api.js";
import * as catalogue from "./catalogue.js";
import { byId, el, show } from "./dom.js";
import { ALL, change, CLOSED, state } from "./state.js";

let names = [];
let isLoaded = false;

/** Prepares the choice. */
export function start() {
  byId("project").addEventListener("change", () => choose(byId("project").value));
}

/** Asks which projects there are, and decides for one when the address names none. */
export async function load() {
  const { projects, current } = await api.projects();
  names = projects.map((one) => one.name);
  isLoaded = true;
  catalogue.setProjects(names);
  state.project ||= current ?? (names.length > 1 ? ALL : (names[0] ?? ""));
}

/** Whether the state names a project that is not here. */
export const isUnknown = () => isLoaded && !names.includes(state.project) && !(state.project === ALL && names.length > 1);

function choose(project) {
  change({ project, ...CLOSED, filters: [] });
}

/** Draws the choice as the state has it. */
export function draw() {
  const all = names.length > 1 ? [el("option", { value: ALL, selected: state.project === ALL }, "All projects")] : [];
  const unknown = isUnknown() && state.project ? [el("option", { value: state.project, selected: true }, `${state.project} (not here)`)] : [];
  show(byId("project"), unknown, all, names.map((name) => el("option", { value: name, selected: name === state.project }, name)));
  byId("project").disabled = byId("project").options.length < 2;
}

/** Says that the project of the address is not here, with those that are. */
export function sayUnknown() {
  byId("status-dot").className = "dot bad";
  byId("status-text").textContent = "No such project";
  const known = names.map((name) => el("button", { type: "button", class: "chip", on: { click: () => choose(name) } }, name));
  const said = state.project ? `There is no project “${state.project}” here.` : "There is no project yet. Make one with: dowse index PATH";
  show(byId("empty"));
  show(byId("notices"), el("div", { class: "notice bad", role: "alert", id: "unknown-project" }, el("p", {}, said), known.length ? el("div", { class: "chips" }, el("span", { class: "soft" }, "Search instead in"), known) : null));
}
