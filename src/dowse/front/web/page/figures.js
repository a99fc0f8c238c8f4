// The pictures of "Why here?", drawn from the trace of a result.

import { spoken, svg } from "./dom.js";
import { fill } from "./strategies.js";

const ROW = 30;
const LABEL = 116;

const text = (x, y, words, kind = "") => svg("text", { x, y, class: `figure-text ${kind}` }, words);
const sheet = (wide, high, label, ...parts) => svg("svg", { class: "picture", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": label }, parts);

/** A bar for each strategy, and all of them as one. */
export function contributionsFigure(places, wide) {
  const given = places.map((place) => Math.max(place.contribution, 0));
  const total = given.reduce((sum, one) => sum + one, 0);
  const room = wide - LABEL - 112;
  const scale = (value) => (total ? (value / total) * room : 0);
  const parts = [];
  let from = 0;
  places.forEach((place, at) => {
    const y = at * ROW;
    const across = Math.max(scale(given[at]), 1.5);
    parts.push(text(0, y + 19, spoken(place.strategy), "strong"));
    parts.push(svg("rect", { x: LABEL, y: y + 6, width: room, height: 16, rx: 4, class: "track" }));
    parts.push(svg("rect", { x: LABEL + from, y: y + 6, width: across, height: 16, rx: 3, class: fill(place.strategy) }));
    parts.push(text(LABEL + room + 10, y + 19, `+${place.contribution.toFixed(3)}`));
    parts.push(text(LABEL + room + 66, y + 19, place.rank ? `#${place.rank}` : "–", "faint"));
    from += scale(given[at]);
  });
  const y = places.length * ROW + 6;
  parts.push(svg("line", { x1: LABEL, x2: wide, y1: y, y2: y, class: "rule" }), text(0, y + 23, "Together", "strong"));
  let start = LABEL;
  places.forEach((place, at) => {
    parts.push(svg("rect", { x: start, y: y + 10, width: scale(given[at]), height: 16, class: fill(place.strategy) }));
    start += scale(given[at]);
  });
  parts.push(text(LABEL + room + 10, y + 23, total.toFixed(3), "strong"));
  const told = places.map((place) => `${place.strategy} ${place.contribution.toFixed(3)}`).join(", ");
  return sheet(wide, y + 34, `Contributions: ${told}; together ${total.toFixed(3)}`, parts);
}

/** The way of the score through the stages: each row moves it from before to after. */
export function stepsFigure(steps, wide) {
  const most = Math.max(...steps.flatMap((step) => [step.before, step.after]), 1e-9);
  const room = wide - LABEL - 112;
  const x = (value) => LABEL + (Math.max(value, 0) / most) * room;
  const parts = [];
  steps.forEach((step, at) => {
    const y = at * ROW + 15;
    const [from, to] = [x(step.before), x(step.after)];
    const kind = step.dropped ? "down" : step.after > step.before ? "up" : step.after < step.before ? "down" : "same";
    if (at) parts.push(svg("line", { x1: x(steps[at - 1].after), x2: from, y1: y - ROW, y2: y, class: "thread" }));
    parts.push(svg("line", { x1: LABEL, x2: LABEL + room, y1: y, y2: y, class: "rule" }));
    parts.push(text(0, y + 5, spoken(step.stage), "strong"));
    parts.push(svg("line", { x1: from, x2: to, y1: y, y2: y, class: `move ${kind}` }));
    parts.push(svg("circle", { cx: from, cy: y, r: 4, class: "before" }));
    if (step.dropped) parts.push(svg("path", { d: `M${to - 5} ${y - 5}l10 10m0-10l-10 10`, class: "cross" }));
    else parts.push(svg("circle", { cx: to, cy: y, r: 5.5, class: `after ${kind}` }));
    parts.push(text(LABEL + room + 10, y + 5, step.dropped ? "dropped" : `${short(step.before)} → ${short(step.after)}`));
  });
  const told = steps.map((step) => `${spoken(step.stage)} ${step.dropped ? `dropped it: ${step.dropped}` : `${short(step.before)} to ${short(step.after)}`}`);
  return sheet(wide, steps.length * ROW, `Stages: ${told.join("; ")}`, parts);
}

/** How many candidates each stage left over, and how long it took. */
export function funnelFigure(rows, seconds, wide) {
  const most = Math.max(...rows.map(([, left]) => left), 1);
  const room = wide - LABEL - 112;
  const parts = rows.map(([stage, left], at) => {
    const y = at * 24;
    const across = Math.max((left / most) * room, left ? 2 : 0);
    const time = seconds[stage];
    return [
      text(0, y + 16, spoken(stage)),
      svg("rect", { x: LABEL + (room - across) / 2, y: y + 4, width: across, height: 15, rx: 4, class: "funnel" }),
      text(LABEL + room + 10, y + 16, String(left), "strong"),
      time === undefined ? null : text(LABEL + room + 46, y + 16, `${(time * 1000).toFixed(1)} ms`, "faint"),
    ];
  });
  const told = rows.map(([stage, left]) => `${spoken(stage)} ${left}`).join(", ");
  return sheet(wide, rows.length * 24 + 4, `Candidates left: ${told}`, parts);
}

const short = (value) => (value !== 0 && value < 0.1 ? value.toFixed(3) : value.toFixed(2));
