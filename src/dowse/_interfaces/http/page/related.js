// What belongs to a document: by links, by community, by meaning.

import * as api from "./api.js";
import { el, show } from "./dom.js";
import { home, state } from "./state.js";

/** Draws what belongs to the open document; `opens(reference)` is called for one of them. */
export async function drawRelated(body, opens) {
  show(body, el("p", { class: "soft" }, "Loading …"));
  const of = state.open;
  if (!of) return; // it was closed before it was drawn
  let found;
  try {
    found = await api.related(home(), of);
  } catch (error) {
    show(body, el("p", { class: "notice bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
    return;
  }
  if (of !== state.open || state.tab !== "related") return;
  const groups = [["Links to", found.links_to], ["Linked from", found.linked_from], ["In its community", found.community], ["Similar in meaning", found.similar]];
  const filled = groups.filter(([, documents]) => documents.length);
  show(body, filled.map(([title, documents]) => [el("h3", {}, title), el("ul", { class: "related" }, documents.map((one) => neighbour(one, opens)))]), dangling(found.dangling), filled.length ? null : el("p", { class: "soft" }, "No document is linked with this one or similar to it."));
}

function neighbour(one, opens) {
  const act = { click: () => opens(one.document) };
  return el("li", {}, el("button", { type: "button", class: "related-link", on: act }, el("span", {}, one.title), el("span", { class: "soft" }, one.document, typeof one.score === "number" ? ` · ${one.score.toFixed(2)}` : "")));
}

function dangling(names) {
  return names.length ? [el("h3", {}, "Links to missing documents"), el("p", { class: "soft" }, names.join(", "))] : null;
}
