// The graph of links: communities in colours, a search in it, and a list for those who see no picture.

import { byId, counted, el, narrow, show } from "./dom.js";
import { Picture } from "./canvas.js";
import { gathered, keyOf } from "./links.js";
import { ALL, change, state } from "./state.js";
import { isDark } from "./theme.js";

const LISTED = 12;

let drawnFor = "";
let picture = null;
let nodes = [];
let names = new Map(); // communities, the largest first: number → { place, title, ids }
let marked = ""; // the document that has a ring
let focused = null; // the community that is highlighted

/** Shows the graph of the project, or of all projects; asks for it when it is not there yet. */
export async function open() {
  const host = byId("graph-picture");
  if (drawnFor === state.project && picture) return picture.draw();
  show(host, el("p", { class: "soft waiting" }, "Loading the links …"));
  const project = state.project;
  try {
    const graph = await gathered();
    if (project !== state.project) return undefined;
    build(host, graph);
    drawnFor = project;
  } catch (error) {
    show(host, el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
  }
  return undefined;
}

/** Forgets the graph, so that it is asked for again. */
export function forget() {
  drawnFor = "";
  picture = null;
}

/** Draws it again, in the colours that hold now. */
export function redraw() {
  if (!picture) return;
  legend();
  picture.draw();
}

/** Marks the document that is open; null: none is. */
export function mark(place) {
  marked = place ? keyOf(place.project, place.document) : "";
  if (!picture) return;
  picture.chosen = marked;
  picture.draw();
}

function build(host, graph) {
  const byName = new Map(graph.nodes.map((one) => [one.id, one]));
  nodes = graph.nodes;
  const seen = new Set();
  const links = [];
  for (const { source, target } of graph.edges) {
    const key = [source, target].sort().join("\n");
    if (!byName.has(source) || !byName.has(target) || source === target || seen.has(key)) continue;
    seen.add(key);
    links.push({ source: byName.get(source), target: byName.get(target) });
  }
  for (const { source, target } of links) {
    source.degree += 1;
    target.degree += 1;
  }
  names = communities();
  frame(host, links, graph.failed);
}

function communities() {
  const groups = new Map();
  for (const node of nodes) if (node.community !== null) groups.set(node.community, [...(groups.get(node.community) ?? []), node]);
  const sorted = [...groups].sort((a, b) => b[1].length - a[1].length || String(a[0]).localeCompare(b[0], "en", { numeric: true }));
  return new Map(sorted.map(([number, members], at) => [number, { place: at, title: members.reduce((best, one) => (one.degree > best.degree ? one : best)).title, ids: new Set(members.map((one) => one.id)) }]));
}

/** Hues as far from each other as they go; neighbours in size never look alike. */
function colour(community) {
  const dark = isDark();
  if (community === null || !names.has(community)) return dark ? "#76858d" : "#78838a";
  const at = names.get(community).place;
  return `oklch(${dark ? 0.74 : 0.58} ${at < 12 ? 0.13 : 0.07} ${(205 + at * 137.5) % 360})`;
}

function frame(host, links, failed) {
  const canvas = el("canvas", { id: "graph-canvas", class: "graph-canvas", role: "application", tabindex: "0", "aria-label": `Graph of ${counted(nodes.length, "document")} and ${counted(links.length, "link")}. Arrow keys move, plus and minus zoom. The field next to it finds documents.` });
  const field = el("input", { id: "graph-find", type: "search", placeholder: "Find in the graph", "aria-label": "Find in the graph", on: { input: find, keydown: enter } });
  show(
    host,
    canvas,
    el(
      "div",
      { class: "graph-panel" },
      el("p", { class: "soft" }, `${counted(nodes.length, "document")}, ${counted(links.length, "link")}, ${counted(names.size, "community", "communities")}${ofProjects()}`),
      failed.map((one) => el("p", { class: "notice" }, one)),
      field,
      el("ul", { id: "graph-found", class: "graph-found", "aria-label": "Documents found" }),
      el("div", { id: "graph-legend", class: "graph-legend", role: "group", "aria-label": "Communities" }),
    ),
    el(
      "div",
      { class: "graph-zoom", role: "group", "aria-label": "Zoom" },
      el("button", { type: "button", class: "quiet icon", "aria-label": "Zoom in", on: { click: () => picture.zoom(1.3) } }, "+"),
      el("button", { type: "button", class: "quiet icon", "aria-label": "Zoom out", on: { click: () => picture.zoom(0.77) } }, "−"),
      el("button", { type: "button", class: "quiet", on: { click: () => picture.whole() } }, "Show all"),
    ),
  );
  focused = null;
  picture = new Picture(canvas, { choose, colour, covered: narrow() ? 0 : 290 });
  picture.chosen = marked;
  picture.take(nodes, links);
  canvas.picture = picture; // lets a test ask where a document is drawn
  legend();
}

/** How many projects the documents are of, where all are shown. */
const ofProjects = () => (state.project === ALL ? `, in ${counted(new Set(nodes.map((one) => one.project)).size, "project")}` : "");

function choose(node) {
  picture.chosen = node.id;
  change({ open: node.document, of: state.project === ALL ? node.project : "", line: 0, tab: "document" }, { step: true });
}

function legend() {
  const rows = [...names].slice(0, LISTED).map(([number, { title, ids }]) => {
    const dot = el("span", { class: "dot" });
    dot.style.background = colour(number);
    const act = { click: () => focus(focused === number ? null : number) };
    return el("button", { type: "button", class: "legend", "aria-pressed": String(focused === number), on: act }, dot, el("span", { class: "legend-name" }, title), el("span", { class: "soft" }, ids.size));
  });
  show(byId("graph-legend"), rows, names.size > LISTED ? el("p", { class: "soft" }, `and ${names.size - LISTED} smaller`) : null);
}

function focus(number) {
  focused = number;
  byId("graph-find").value = "";
  show(byId("graph-found"));
  picture.highlight(number === null ? null : names.get(number).ids);
  legend();
}

function matching() {
  const words = byId("graph-find").value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const fits = (node) => words.every((word) => `${node.title} ${node.id} ${node.tags.join(" ")}`.toLowerCase().includes(word));
  return nodes.filter(fits).sort((a, b) => b.degree - a.degree);
}

function find() {
  const found = matching();
  focused = null;
  legend();
  picture.highlight(found && new Set(found.map((node) => node.id)));
  const rows = (found ?? []).slice(0, LISTED).map((node) => el("li", {}, el("button", { type: "button", class: "related-link", on: { click: () => reach(node) } }, el("span", {}, node.title), el("span", { class: "soft" }, node.id))));
  show(byId("graph-found"), rows, found && !found.length ? el("li", { class: "soft" }, "No document matches.") : null);
}

function enter(event) {
  const found = event.key === "Enter" && matching();
  if (found?.length) reach(found[0]);
}

function reach(node) {
  picture.centre(node.id);
  choose(node);
}
