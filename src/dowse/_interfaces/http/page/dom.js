// Small helpers for building the page. Text always becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** A new HTML element; strings among the children become text. */
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** A new SVG element. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Replaces what a node holds. */
export function show(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

/** Text with matches between ** and ** as nodes, the matches marked. */
export function marked(text) {
  const parts = text.split("**");
  // Signs come in pairs; one left over stands for itself.
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join("**"));
  return parts.map((part, place) => (place % 2 ? el("mark", {}, part) : part));
}

/** The words that a snippet marks, each once, longest first. */
export function markedWords(snippet) {
  const found = snippet.split("**").filter((_, place) => place % 2);
  return [...new Set(found.map((word) => word.toLowerCase()))].sort((a, b) => b.length - a.length);
}

/** Calls a function once the calls have paused for some milliseconds. */
export function debounced(act, pause) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), pause);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Tells people who cannot see the page what has changed on it. */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** A number with its word: `1 result`, `3 results`. */
export const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** Whether the user wants things to stay still. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Whether there is room for one column only. */
export const narrow = () => matchMedia("(max-width: 860px)").matches;

/** The last names of a setting or a stage as people read them: `near_dedup` is `Near dedup`. */
export function spoken(name) {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
