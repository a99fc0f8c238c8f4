// Which columns there are room and reason for, and how much of the window the search takes.

import { byId } from "./dom.js";
import { state } from "./state.js";

/** Whether something is searched: words, or only filters. */
export const isAsked = () => state.query.trim() !== "" || state.filters.length > 0;

/** Measures what stays in view at the top, so that the columns below know where they begin. */
export function start() {
  const root = document.documentElement;
  const measure = () => {
    root.style.setProperty("--bar", `${byId("bar").offsetHeight}px`);
    root.style.setProperty("--search", `${byId("search").offsetHeight}px`);
  };
  const observer = new ResizeObserver(measure);
  for (const id of ["bar", "search"]) observer.observe(byId(id));
  measure();
}

/** Shows the view, the columns and the title that the state asks for. */
export function layOut() {
  const graphed = state.view === "graph";
  const begin = !graphed && !isAsked() && !state.open;
  document.body.classList.toggle("start", begin);
  byId("search-view").hidden = graphed;
  byId("graph-view").hidden = !graphed;
  byId("search-view").classList.toggle("alone", !state.open);
  const host = byId(graphed ? "graph-view" : "columns");
  if (byId("reader").parentElement !== host) host.append(byId("reader"));
  for (const name of ["search", "graph"]) {
    if (state.view === name) byId(`view-${name}`).setAttribute("aria-current", "page");
    else byId(`view-${name}`).removeAttribute("aria-current");
  }
  document.title = state.query ? `${state.query} – dowse` : "dowse";
}
