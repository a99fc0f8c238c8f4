// What the page says above a list: what could not be done, and why no result is good.

import { counted, el } from "./dom.js";
import { change, state } from "./state.js";

/** Whether a response has results worth opening. */
export const isGood = (response) => response.hits.length > 0 && !response.no_good_match;

/** Whether the first result of a response fits so well that sentences of it can be an answer. */
export const isStrong = (response) => isGood(response) && response.hits[0].match === "strong";

/** What is above the list: the verdict where no result is good, and what the server notes, in one line. */
export function above(response) {
  if (isGood(response)) return noted(response.notices);
  const near = response.hits.length || response.nearest.length;
  const verdict = el("h2", { class: "no-match", id: "no-match" }, near ? "No good match. Nearest:" : "Nothing found.");
  const excluded = excluding(response.removed);
  const advice = near || excluded.length ? null : el("span", { class: "soft" }, "Try other words.");
  return [el("div", { class: "verdict-line" }, verdict, advice, noted(response.notices)), excluded];
}

/** Notes of the server: the first one, and the others once they are asked for. */
function noted(notices) {
  if (!notices.length) return null;
  const [first, ...others] = notices;
  if (!others.length) return el("p", { class: "note" }, first);
  return el("details", { class: "note" }, el("summary", {}, first, el("span", { class: "inline" }, `${others.length} more`)), others.map((one) => el("p", {}, one)));
}

/** A button for each condition that excluded passages, the one that excluded most first. */
function excluding(removed) {
  const emptied = Object.entries(removed).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  return emptied.map(([condition, count]) => {
    const drop = el("button", { type: "button", class: "quiet drop", on: { click: () => change(without(condition)) } }, `Search without ${named(condition)}`);
    return el("p", { class: "dropping" }, el("span", {}, `${named(condition)} excludes ${counted(count, "passage")}.`), drop);
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
