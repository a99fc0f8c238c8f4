// Whether the server is there. The page notices when it goes away, and recovers when it is back.

import * as api from "./api.js";

const CALM = 5_000; // milliseconds between two looks
const EAGER = 1_500; // while it is away

let away = false;
let timer = 0;
let listener = () => {};

/** Whether the server did not answer the last time. */
export const isAway = () => away;

/** Begins to look; `act(away)` is called when the server goes away and when it is back. */
export function start(act) {
  listener = act;
  api.onHeard(noted);
  document.addEventListener("visibilitychange", () => document.hidden || look());
  later();
}

function noted(answered) {
  if (away !== answered) return;
  away = !answered;
  listener(away);
  later();
}

function later() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, away ? EAGER : CALM);
}

async function look() {
  try {
    await api.ping();
  } catch {
    // It is noted by whether the call was heard.
  }
  later();
}
