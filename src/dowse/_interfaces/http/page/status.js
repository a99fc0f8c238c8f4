// The project, how fresh its index is, and how far indexing has come.

import * as api from "./api.js";
import * as catalogue from "./catalogue.js";
import * as connection from "./connection.js";
import { announce, byId, counted, el, show, spoken } from "./dom.js";
import { ALL, state } from "./state.js";

const SLOW = 20_000;
const QUICK = 700;

let timer = 0;
let told = null;
let finished = () => {};
let wasRunning = false;
let before = ""; // what the index held when it was last looked at

/** Says what is done when indexing has ended. */
export function onIndexed(act) {
  finished = act;
}

/** Prepares the dialog. */
export function start() {
  byId("status").addEventListener("click", () => {
    drawDialog();
    byId("index").showModal();
  });
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

/** Says that the server is away; whatever was known may not be true any more. */
export function sayAway() {
  clearTimeout(timer);
  told = null;
  point("bad", "The server does not answer");
  announce("The server does not answer.");
  if (byId("index").open) drawDialog();
}

/** Asks how the index is, and again after a while. */
export async function refresh() {
  clearTimeout(timer);
  const project = state.project;
  try {
    const answer = project === ALL ? await ofAll() : await api.status(project);
    if (project !== state.project) return;
    told = answer;
    draw();
  } catch (error) {
    if (connection.isAway()) return; // the connection looks for it, and begins again
    told = null;
    point("bad", error.message);
  }
  if (!document.hidden) timer = setTimeout(refresh, running() ? QUICK : SLOW);
}

/** The sum of what all projects say; one that cannot be opened is named. */
async function ofAll() {
  const names = catalogue.searched();
  const answers = await Promise.all(names.map((name) => api.status(name).catch((error) => ({ project: name, failed: error }))));
  const good = answers.filter((one) => !one.failed);
  if (!good.length && answers[0]) throw answers[0].failed;
  const sum = (of) => good.reduce((total, one) => total + of(one), 0);
  return {
    project: ALL,
    indexed: good.some((one) => one.indexed),
    roots: names,
    bytes: sum((one) => one.bytes),
    counts: Object.fromEntries(["documents", "chunks", "links", "embedded"].map((name) => [name, sum((one) => one.counts[name])])),
    freshness: Object.fromEntries(["new", "changed", "deleted"].map((name) => [name, sum((one) => one.freshness[name])])),
    unread: sum((one) => one.unread),
    notices: answers.flatMap((one) => (one.failed ? [`${one.project}: ${one.failed.message} ${one.failed.hint}`] : one.notices.map((notice) => `${one.project}: ${notice}`))),
    job: good.map((one) => one.job).find((job) => job?.state === "running") ?? null,
    watch: { watching: good.every((one) => one.watch.watching), error: good.map((one) => one.watch.error).find(Boolean) ?? null },
  };
}

/** The run that is under way, if one is. */
const running = () => (told?.job?.state === "running" ? told.job : null);

function draw() {
  const job = running();
  const waiting = told.freshness.new + told.freshness.changed + told.freshness.deleted;
  if (job) point("warn", progressText(job));
  else if (!told.indexed) point("bad", "Not indexed yet");
  else if (waiting) point("warn", `${counted(told.counts.documents, "document")}, ${waiting} to index`);
  else point("good", counted(told.counts.documents, "document"));
  const holds = JSON.stringify([told.project, told.bytes, told.counts]);
  const followed = before && before !== holds && JSON.parse(before)[0] === told.project; // by the watcher
  if (wasRunning && !job) announce("Indexing has finished.");
  if ((wasRunning || followed) && !job) finished();
  before = holds;
  wasRunning = Boolean(job);
  if (byId("index").open) drawDialog();
}

function point(kind, text) {
  byId("status-dot").className = `dot ${kind}`;
  byId("status-text").textContent = text;
}

function progressText(job) {
  const event = job.event;
  if (!event) return "Indexing …";
  return event.total ? `${spoken(event.stage)} ${event.done} of ${event.total} ${event.unit}` : `${spoken(event.stage)} ${event.done} ${event.unit}`;
}

function drawDialog() {
  const dialog = byId("index");
  const close = el("form", { method: "dialog" }, el("button", { class: "quiet" }, "Close"));
  if (!told) {
    show(dialog, el("h2", { id: "index-title" }, "Index"), el("p", {}, byId("status-text").textContent), close);
    return;
  }
  const job = running();
  const error = told.job?.error;
  const focused = dialog.contains(document.activeElement) ? document.activeElement.id : "";
  show(
    dialog,
    el("h2", { id: "index-title" }, told.project === ALL ? "Index of all projects" : `Index of ${told.project}`),
    el("table", {}, el("tbody", {}, rows().map(([name, value]) => el("tr", {}, el("th", { scope: "row", class: "soft" }, name), el("td", {}, value))))),
    told.notices.map((notice) => el("p", { class: "notice" }, notice)),
    error ? el("p", { class: "notice bad" }, `${error.error} ${error.hint}`) : null,
    job ? bar(job) : null,
    el("div", { class: "row" }, el("button", { type: "button", class: "primary", id: "index-start", disabled: Boolean(job), on: { click: begin } }, job ? "Indexing …" : "Index now"), close),
  );
  if (focused) byId(focused)?.focus();
}

function rows() {
  const { counts, freshness } = told;
  const behind = [[freshness.new, "new"], [freshness.changed, "changed"], [freshness.deleted, "deleted"]].filter(([number]) => number);
  return [
    [told.project === ALL ? "Projects" : "Folders", told.roots.join(", ")],
    ["Contents", `${counted(counts.documents, "document")}, ${counted(counts.chunks, "chunk")}, ${counted(counts.links, "link")}`],
    ["Embedded", `${counts.embedded.toLocaleString("en")} of ${counted(counts.chunks, "chunk")}`],
    ["Size", `${(told.bytes / 1e6).toFixed(1)} MB`],
    ["Watching for changes", told.watch.error ? `no: ${told.watch.error.error} ${told.watch.error.hint}` : told.watch.watching ? "yes" : "no"],
    ...(told.unread ? [["Left out", counted(told.unread, "file")]] : []),
    ["Not indexed yet", behind.length ? behind.map(([number, what]) => `${number} ${what}`).join(", ") : "nothing"],
  ];
}

function bar(job) {
  const known = job.event?.total;
  const progress = el("progress", { "aria-label": "Progress of indexing", max: known || undefined, value: known ? job.event.done : undefined });
  if (!known) progress.removeAttribute("value");
  return el("div", { class: "progress" }, progress, el("span", {}, progressText(job)));
}

async function begin() {
  byId("index-start").disabled = true;
  try {
    await Promise.all(catalogue.searched().map((project) => api.startIndexing(project)));
  } catch (error) {
    byId("index").append(el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
    return;
  }
  wasRunning = true;
  refresh();
}
