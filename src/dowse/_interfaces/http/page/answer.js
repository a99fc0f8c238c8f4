// What the documents say to a question, in their own sentences, each with the result it comes from.

import * as api from "./api.js";
import { announce, byId, el, show } from "./dom.js";

let asking = new AbortController();

/** Whether a query asks to be answered: it ends with a question mark. */
export const isQuestion = (query) => /\S.*[?？؟]\s*$/u.test(query);

/** Dims the answer while newer results are on their way. */
export function age() {
  asking.abort();
  byId("answer").classList.add("old");
}

/** Takes the answer away. */
export function clear() {
  asking.abort();
  byId("answer").hidden = true;
  show(byId("answer"));
}

/** Asks for an answer; `choose(place)` is called for a source, `wanted` says that it was asked for by hand. */
export async function ask(state, choose, { wanted = false } = {}) {
  asking.abort();
  const mine = (asking = new AbortController());
  const box = byId("answer");
  if (wanted) {
    show(box, el("p", { class: "soft" }, "Looking for an answer …"));
    box.hidden = false;
  }
  try {
    const { answer, hits } = await api.answer(state, mine.signal);
    if (mine !== asking) return;
    if (answer) draw(answer, hits, choose);
    else if (wanted) show(box, el("p", { class: "soft" }, "No sentence of the results answers this."));
    else clear();
  } catch (error) {
    if (error.name === "AbortError" || mine !== asking) return;
    if (wanted) show(box, el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
    else clear(); // the results themselves say what is wrong
  }
  box.classList.remove("old");
}

function draw(answer, hits, choose) {
  const told = answer.written_by ? `Written by ${answer.written_by} from the results` : "In the words of the documents";
  const close = el("button", { type: "button", class: "quiet close", "aria-label": "Close the answer", on: { click: clear } }, "×");
  show(byId("answer"), el("div", { class: "answer-top" }, el("h2", {}, "Answer"), el("span", { class: "soft" }, told), close), paragraphs(answer).map((text) => el("p", {}, cited(text, hits, choose))));
  byId("answer").hidden = false;
  announce(`Answer: ${answer.text}`);
}

/** Sentences of documents stand alone, since they do not go on from each other. */
const paragraphs = ({ sentences, text }) => (sentences.length ? sentences.map((one) => `${one.text} [${one.hit}]`) : text.split(/\n{2,}/u));

/** The text, its numbers in brackets as buttons that lead to the results. */
function cited(text, hits, choose) {
  return text.split(/(\[\d+\])/u).map((part) => {
    const rank = Number(/^\[(\d+)\]$/u.exec(part)?.[1] ?? 0);
    const hit = hits[rank - 1];
    return hit ? el("button", { type: "button", class: "source", "aria-label": `Source ${rank}: ${hit.title}`, title: hit.title, on: { click: () => choose(rank - 1) } }, rank) : part;
  });
}
