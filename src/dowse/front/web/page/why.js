// "Why here?": what each strategy gave, what each stage did, and how many were left, as pictures.

import * as api from "./api.js";
import { el, show, spoken } from "./dom.js";
import { contributionsFigure, funnelFigure, stepsFigure } from "./figures.js";
import { state } from "./state.js";

let asking = new AbortController();

/** Draws why a document is where it is: from the result itself, or by asking when it is none. */
export async function drawWhy(body, hit, response) {
  asking.abort();
  if (!state.query) {
    show(body, el("p", { class: "soft" }, "Search for something, and this shows why the document is found, or why it is not."));
    return;
  }
  if (hit && response) {
    show(body, el("p", { class: "verdict" }, `Result ${hit.rank}, with a score of ${hit.score.toFixed(2)}.`), pictures(body, hit), search(body, response));
    return;
  }
  asking = new AbortController();
  show(body, el("p", { class: "soft" }, "Looking …"));
  try {
    const told = await api.explain(state, state.open, asking.signal);
    const best = told.chunks[0];
    show(body, el("p", { class: "verdict" }, told.why), best ? pictures(body, best) : null, best ? standing(best, told.top_k) : null);
  } catch (error) {
    if (error.name !== "AbortError") show(body, el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
  }
}

function pictures(body, traced) {
  const wide = width(body);
  return [
    traced.places.length
      ? figure("What each strategy gave", contributionsFigure(traced.places, wide), ["Strategy", "Rank", "Raw score", "Gave"], traced.places.map((one) => [one.strategy, one.rank ?? "–", one.score.toFixed(3), one.contribution.toFixed(4)]))
      : null,
    traced.steps.length
      ? figure("What each stage did to the score", stepsFigure(traced.steps, wide), ["Stage", "Before", "After", ""], traced.steps.map((one) => [spoken(one.stage), one.before.toFixed(4), one.after.toFixed(4), one.dropped]))
      : traced.places.length
        ? el("p", { class: "soft" }, "No stage changed its score.")
        : null,
  ];
}

function search(body, response) {
  // Stages before the first candidates only look at the query.
  const all = Object.entries(response.counts);
  const rows = all.slice(Math.max(all.findIndex(([, left]) => left > 0), 0)).filter(([stage]) => stage in response.seconds);
  if (!rows.length) return null;
  const time = (stage) => (response.seconds[stage] === undefined ? "" : `${(response.seconds[stage] * 1000).toFixed(1)} ms`);
  return figure("Candidates left after each stage", funnelFigure(rows, response.seconds, width(body)), ["Stage", "Left", "Time"], rows.map(([stage, left]) => [spoken(stage), left, time(stage)]));
}

function standing(chunk, candidates) {
  if (!chunk.standing.length) return null;
  const rows = chunk.standing.map((one) => [one.strategy, one.rank, one.score.toFixed(3)]);
  return el("figure", { class: "figure" }, el("figcaption", {}, `Its rank among all passages; each strategy returns its first ${candidates}`), table(["Strategy", "Rank", "Raw score"], rows));
}

function figure(title, picture, head, rows) {
  return el("figure", { class: "figure" }, el("figcaption", {}, title), picture, el("details", {}, el("summary", {}, "As a table"), table(head, rows)));
}

function table(head, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, head.map((one) => el("th", { scope: "col" }, one)))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map((one) => el("td", {}, String(one)))))));
}

const width = (body) => Math.max(260, Math.min(660, body.clientWidth - 40));
