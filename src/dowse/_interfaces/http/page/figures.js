// The pictures of "Why here?", drawn from the trace of a result. Words are above their bar.

import { svg } from "./dom.js";
import { fill } from "./strategies.js";
import { ofStage, ofStrategy } from "./words.js";

const ROW = 46;
const BAR = 22; // where the bar of a row begins
const VALUES = 116; // room for figures at the right

const text = (x, y, words, kind = "") => svg("text", { x, y, class: `figure-text ${kind}` }, words);
const sheet = (wide, high, label, ...parts) => svg("svg", { class: "picture", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": label }, parts);

/** Plain words, then the name in a softer colour. */
const named = (y, words, name) => svg("text", { x: 0, y: y + 14, class: "figure-text strong" }, words, svg("tspan", { class: "figure-text faint", dx: 6 }, name));

/** A bar for each strategy, and all of them as one. */
export function contributionsFigure(places, wide) {
  const given = places.map((place) => Math.max(place.contribution, 0));
  const total = given.reduce((sum, one) => sum + one, 0);
  const room = wide - VALUES;
  const scale = (value) => (total ? (value / total) * room : 0);
  const parts = [];
  let from = 0;
  places.forEach((place, at) => {
    const y = at * ROW;
    parts.push(named(y, ofStrategy(place.strategy), place.strategy));
    parts.push(svg("rect", { x: 0, y: y + BAR, width: room, height: 14, rx: 4, class: "track" }));
    parts.push(svg("rect", { x: from, y: y + BAR, width: Math.max(scale(given[at]), 1.5), height: 14, rx: 3, class: fill(place.strategy) }));
    parts.push(text(room + 10, y + BAR + 12, `+${place.contribution.toFixed(3)}`));
    parts.push(text(room + 66, y + BAR + 12, place.rank ? `#${place.rank}` : "–", "faint"));
    from += scale(given[at]);
  });
  const y = places.length * ROW;
  parts.push(text(0, y + 14, "Together", "strong"));
  let start = 0;
  places.forEach((place, at) => {
    parts.push(svg("rect", { x: start, y: y + BAR, width: scale(given[at]), height: 14, class: fill(place.strategy) }));
    start += scale(given[at]);
  });
  parts.push(text(room + 10, y + BAR + 12, total.toFixed(3), "strong"));
  const told = places.map((place) => `${place.strategy} ${place.contribution.toFixed(3)}`).join(", ");
  return sheet(wide, y + ROW, `Contributions: ${told}; together ${total.toFixed(3)}`, parts);
}

/** The way of the score through the stages: each row moves it from before to after. */
export function stepsFigure(steps, wide) {
  const most = Math.max(...steps.flatMap((step) => [step.before, step.after]), 1e-9);
  const room = wide - VALUES;
  const x = (value) => 6 + (Math.max(value, 0) / most) * (room - 12);
  const parts = [];
  steps.forEach((step, at) => {
    const y = at * ROW + BAR + 8;
    const [from, to] = [x(step.before), x(step.after)];
    const kind = step.dropped ? "down" : step.after > step.before ? "up" : step.after < step.before ? "down" : "same";
    parts.push(named(at * ROW, ofStage(step.stage), step.stage));
    parts.push(svg("line", { x1: 0, x2: room, y1: y, y2: y, class: "rule" }));
    parts.push(svg("line", { x1: from, x2: to, y1: y, y2: y, class: `move ${kind}` }));
    parts.push(svg("circle", { cx: from, cy: y, r: 4, class: "before" }));
    if (step.dropped) parts.push(svg("path", { d: `M${to - 5} ${y - 5}l10 10m0-10l-10 10`, class: "cross" }));
    else parts.push(svg("circle", { cx: to, cy: y, r: 5.5, class: `after ${kind}` }));
    parts.push(text(room + 10, y + 5, step.dropped ? "dropped" : `${short(step.before)} → ${short(step.after)}`));
  });
  const told = steps.map((step) => `${step.stage} ${step.dropped ? `dropped it: ${step.dropped}` : `${short(step.before)} to ${short(step.after)}`}`);
  return sheet(wide, steps.length * ROW, `Stages: ${told.join("; ")}`, parts);
}

/** How many candidates each stage left over, and how long it took. */
export function funnelFigure(rows, seconds, wide) {
  const most = Math.max(...rows.map(([, left]) => left), 1);
  const room = wide - VALUES;
  const parts = rows.map(([stage, left], at) => {
    const y = at * ROW;
    const time = seconds[stage];
    return [
      named(y, ofStage(stage), stage),
      svg("rect", { x: 0, y: y + BAR, width: Math.max((left / most) * room, left ? 2 : 0), height: 14, rx: 4, class: "funnel" }),
      text(room + 10, y + BAR + 12, String(left), "strong"),
      time === undefined ? null : text(room + 46, y + BAR + 12, `${(time * 1000).toFixed(1)} ms`, "faint"),
    ];
  });
  const told = rows.map(([stage, left]) => `${stage} ${left}`).join(", ");
  return sheet(wide, rows.length * ROW, `Candidates left: ${told}`, parts);
}

/** A score as it is shown. */
export const short = (value) => (value !== 0 && value < 0.1 ? value.toFixed(3) : value.toFixed(2));
