// "Why here?": what each strategy gave, what each stage did, and how many were left, as pictures; and the switches of the stages.

import * as api from "./api.js";
import { counted, el, show } from "./dom.js";
import { contributionsFigure, funnelFigure, short, stepsFigure } from "./figures.js";
import * as stages from "./stages.js";
import { home, state } from "./state.js";
import { ofStage, ofStrategy } from "./words.js";

let asking = new AbortController();

/** Draws why a document is where it is: from the result itself, or by asking when it is none. */
export async function drawWhy(body, hit, response) {
  asking.abort();
  if (!state.query) {
    show(body, el("p", { class: "soft" }, "Search for something to see why the document is found, or why it is not."));
    return;
  }
  if (hit && response) {
    show(body, verdict(hit), pictures(body, hit), search(body, response), stages.panel());
    return;
  }
  asking = new AbortController();
  show(body, el("p", { class: "soft" }, "Loading …"));
  try {
    const told = await api.explain({ ...state, project: home() }, state.open, asking.signal);
    const best = told.chunks[0];
    show(body, el("p", { class: "verdict" }, told.why), best ? pictures(body, best) : null, best ? standing(best, told.top_k) : null, stages.panel());
  } catch (error) {
    if (error.name !== "AbortError") show(body, el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
  }
}

/** The place, the strength and the reason, in a sentence; the number is said on hover. */
function verdict(hit) {
  const match = hit.match ? `a ${hit.match} match` : "a match";
  return el("p", { class: "verdict", title: `Score ${hit.score.toFixed(2)} of 1` }, `Result ${hit.rank} is ${match}${hit.reason ? `: ${hit.reason}` : ""}.`);
}

function pictures(body, traced) {
  const wide = width(body);
  const moved = traced.steps.filter((one) => one.dropped || changes(one));
  const idle = traced.steps.filter((one) => !moved.includes(one));
  return [
    traced.places.length
      ? figure("How it was found", contributionsFigure(traced.places, wide), ["Ranked", "Strategy", "Rank", "Raw score", "Contribution"], traced.places.map((one) => [ofStrategy(one.strategy), one.strategy, one.rank ?? "–", one.score.toFixed(3), one.contribution.toFixed(4)]))
      : null,
    moved.length
      ? figure("What changed its score", stepsFigure(moved, wide), ["What it does", "Stage", "Before", "After", ""], traced.steps.map((one) => [ofStage(one.stage), one.stage, one.before.toFixed(4), one.after.toFixed(4), one.dropped]))
      : null,
    folded(idle.map((one) => one.stage), (count) => `${counted(count, "stage")} left its score as it was`),
  ];
}

/** Whether a step changes what is shown of a score. */
const changes = ({ before, after }) => short(before) !== short(after);

/** Stages that changed nothing, folded into one line. */
function folded(stages, said) {
  if (!stages.length) return null;
  return el("details", { class: "folded" }, el("summary", {}, said(stages.length)), el("ul", {}, stages.map((one) => el("li", {}, ofStage(one), el("span", { class: "soft" }, ` (${one})`)))));
}

function search(body, response) {
  // Stages before the first candidates only look at the query.
  const all = Object.entries(response.counts);
  const first = Math.max(all.findIndex(([, left]) => left > 0), 0);
  const rows = all.slice(first).filter(([stage]) => stage in response.seconds);
  if (!rows.length) return null;
  const telling = rows.filter(([, left], at) => at === 0 || left !== rows[at - 1][1]);
  const idle = rows.filter((row) => !telling.includes(row)).map(([stage]) => stage);
  const time = (stage) => (response.seconds[stage] === undefined ? "" : `${(response.seconds[stage] * 1000).toFixed(1)} ms`);
  return [
    figure("Candidates left in this search", funnelFigure(telling, response.seconds, width(body)), ["What it does", "Stage", "Left", "Time"], rows.map(([stage, left]) => [ofStage(stage), stage, left, time(stage)])),
    folded(idle, (count) => `${counted(count, "stage")} dropped no candidate`),
  ];
}

function standing(chunk, candidates) {
  if (!chunk.standing.length) return null;
  const rows = chunk.standing.map((one) => [ofStrategy(one.strategy), one.rank, one.score.toFixed(3)]);
  return el("figure", { class: "figure" }, el("figcaption", {}, `Its rank among all passages; each strategy returns its first ${candidates}`), table(["Ranked", "Rank", "Raw score"], rows));
}

function figure(title, picture, head, rows) {
  return el("figure", { class: "figure" }, el("figcaption", {}, title), picture, el("details", {}, el("summary", {}, "As a table"), table(head, rows)));
}

function table(head, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, head.map((one) => (one ? el("th", { scope: "col" }, one) : el("td", {}))))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map((one) => el("td", {}, String(one)))))));
}

const width = (body) => Math.max(260, Math.min(660, body.clientWidth - 40));
