// What the page says when no result is good: why, and what to do about it.

import { counted, el } from "./dom.js";
import { change, state } from "./state.js";

/** Whether a response has results worth opening. */
export const isGood = (response) => response.hits.length > 0 && !response.no_good_match;

/** What is above the nearest results: that they are not good, and which condition to drop. */
export function above(response) {
  if (isGood(response)) return [];
  const near = response.hits.length || response.nearest.length;
  const verdict = near ? "No good match; nearest:" : "Nothing found.";
  const advice = near ? null : el("p", { class: "soft" }, Object.keys(response.removed).length ? "Drop a condition, or try other words." : "Try other words, or look into the stages.");
  return [dropping(response.removed), el("h2", { class: "no-match", id: "no-match" }, verdict), advice];
}

/** A button for each condition that kept passages out, the one that kept out most first. */
function dropping(removed) {
  const emptied = Object.entries(removed).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  return emptied.map(([condition, count]) => {
    const drop = el("button", { type: "button", class: "quiet drop", on: { click: () => change(without(condition)) } }, `Drop ${named(condition)}`);
    return el("p", { class: "notice dropping" }, el("span", {}, `${named(condition)} keeps out ${counted(count, "passage")}.`), drop);
  });
}

/** A condition as the chips write it: `--tag a --tag b` is `tag: a, b`. */
function named(condition) {
  const own = chips(condition);
  return own.length ? `${own[0].kind}: ${own.map((one) => one.value).join(", ")}` : condition.replace(/^--(\w+) /u, "$1: ");
}

/** The filters of the page that a condition was made from. */
function chips(condition) {
  const kind = /^--(\w+) /u.exec(condition)?.[1];
  return kind ? state.filters.filter((one) => one.kind === kind && condition.includes(`--${kind} ${bare(one)}`)) : [];
}

/** A value as the server writes it. */
const bare = ({ kind, value }) => ({ tag: value.replace(/^#/u, ""), path: value.replace(/^\.\//u, ""), source: value.replace(/^\./u, "") })[kind] ?? value;

/** The state without a condition: without its chips, or without its words in the query. */
function without(condition) {
  const own = chips(condition);
  if (own.length) return { filters: state.filters.filter((one) => !own.includes(one)) };
  return { query: state.query.replace(condition, " ").replace(/\s+/gu, " ").trim() };
}
