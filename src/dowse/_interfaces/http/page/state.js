// What the page shows, kept in its address so that it can be shared and gone back to.

function fresh() {
  return { project: "", query: "", filters: [], mode: "", count: 10, changes: {}, open: "", of: "", line: 0, tab: "document", view: "search" };
}

export const state = fresh();

/** The name that means all projects. */
export const ALL = "all";

/** The project of the open document: the one that is searched, unless all of them are. */
export const home = () => state.of || state.project;

/** What the state says once a result is open. */
export const placed = (hit) => ({ open: hit.document, line: hit.first_line, of: state.project === ALL ? hit.project : "" });

/** What the state says once no document is open. */
export const CLOSED = { open: "", of: "", line: 0 };

const listeners = [];

/** Calls a function with the names of what has changed. */
export function onChange(listener) {
  listeners.push(listener);
}

/** Changes what is shown; with `step`, going back leads to what was shown before. Returns whether anything changed. */
export function change(changes, { step = false } = {}) {
  const names = Object.keys(changes).filter((name) => JSON.stringify(state[name]) !== JSON.stringify(changes[name]));
  if (!names.length) return false;
  Object.assign(state, changes);
  const hash = written();
  if (hash !== location.hash) history[step ? "pushState" : "replaceState"](null, "", hash || location.pathname);
  tell(new Set(names));
  return true;
}

function tell(names) {
  for (const listener of listeners) listener(names);
}

/** Adds a filter; with `once`, in the place of another of its kind. */
export function addFilter(kind, value, { once = false } = {}) {
  const text = value.trim();
  if (!text) return;
  const others = state.filters.filter((one) => one.kind !== kind || (!once && one.value !== text));
  change({ filters: [...others, { kind, value: text }] });
}

/** Takes a filter back. */
export function removeFilter(kind, value) {
  change({ filters: state.filters.filter((one) => one.kind !== kind || one.value !== value) });
}

function written() {
  const parts = new URLSearchParams();
  if (state.query) parts.set("q", state.query);
  if (state.project) parts.set("project", state.project);
  if (state.mode) parts.set("mode", state.mode);
  if (state.count !== 10) parts.set("n", state.count);
  for (const { kind, value } of state.filters) parts.append("filter", `${kind}:${value}`);
  for (const [name, value] of Object.entries(state.changes)) parts.append("set", `${name}=${value}`);
  if (state.open) parts.set("open", state.line ? `${state.open}:${state.line}` : state.open);
  if (state.open && state.of) parts.set("in", state.of);
  if (state.tab !== "document") parts.set("tab", state.tab);
  if (state.view !== "search") parts.set("view", state.view);
  const text = parts.toString();
  return text && `#${text}`;
}

/** Takes over what the address says. */
export function readAddress() {
  // A link to a document says it before the sign; what the page keeps is after it.
  const parts = new URLSearchParams(location.hash.slice(1) || location.search);
  const read = fresh();
  read.query = parts.get("q") ?? "";
  read.project = parts.get("project") || state.project; // an address that names none stays where the user is
  read.mode = parts.get("mode") ?? "";
  read.count = Math.min(Math.max(Number.parseInt(parts.get("n") ?? "10", 10) || 10, 1), 100);
  read.tab = ["document", "why", "related"].includes(parts.get("tab")) ? parts.get("tab") : "document";
  read.view = parts.get("view") === "graph" ? "graph" : "search";
  const place = /^(.+?)(?::(\d+))?$/.exec(parts.get("open") ?? parts.get("document") ?? "");
  if (place) [read.open, read.line] = [place[1], Number(place[2] ?? 0)];
  if (read.open) read.of = parts.get("in") ?? "";
  for (const text of parts.getAll("filter")) {
    const [kind, ...rest] = text.split(":");
    if (kind && rest.length) read.filters.push({ kind, value: rest.join(":") });
  }
  for (const text of parts.getAll("set")) {
    const [name, ...rest] = text.split("=");
    if (name && rest.length) read.changes[name] = rest.join("=");
  }
  const names = Object.keys(read).filter((name) => JSON.stringify(read[name]) !== JSON.stringify(state[name]));
  Object.assign(state, read);
  tell(new Set(names));
}
