// Dark or light: as the system has it, until the user says otherwise.

import { byId, el, show, svg } from "./dom.js";

const KEPT = "dowse-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

/** Whether the page is dark now. */
export const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : system.matches);

/** Calls a function when it turns dark or light. */
export function onTheme(listener) {
  listeners.push(listener);
}

/** Takes over what the user has chosen before. */
export function start() {
  const kept = read();
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  system.addEventListener("change", drawn);
  byId("theme").addEventListener("click", toggle);
  drawn();
}

/** Turns dark into light, and light into dark. */
export function toggle() {
  const wanted = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = wanted;
  try {
    localStorage.setItem(KEPT, wanted);
  } catch {
    // Without a place to keep it, the choice lasts as long as the page.
  }
  drawn();
}

function read() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function drawn() {
  const moon = svg("path", { d: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" });
  const sun = [svg("circle", { cx: 12, cy: 12, r: 4.2 }), svg("path", { d: "M12 2.5v2.5M12 19v2.5M2.5 12H5M19 12h2.5M5.3 5.3 7 7M17 17l1.7 1.7M5.3 18.7 7 17M17 7l1.7-1.7" })];
  const button = byId("theme");
  button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
  show(button, svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, isDark() ? sun : moon), el("span", { class: "unseen" }, ""));
  for (const listener of listeners) listener();
}
