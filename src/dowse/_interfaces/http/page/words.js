// Plain words for stages and strategies, as the server has them; their names are said after them.

import { spoken } from "./dom.js";

let stages = {};
let strategies = {};

/** Takes over the words of the server. */
export function set(told) {
  stages = told.stage_words ?? {};
  strategies = told.strategy_words ?? {};
}

/** What a stage does: `Drops near copies`; a strategy that is no stage ranks. */
export const ofStage = (name) => stages[name] ?? (name in strategies ? `Ranks ${strategies[name]}` : spoken(name));

/** How a strategy ranks: `By meaning`. */
export const ofStrategy = (name) => spoken(strategies[name] ?? name);
