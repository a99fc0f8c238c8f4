// Takes over HTML of documents piece by piece. The server has cleaned it and the page's policy
// forbids scripts; this is the third wall, and it lets through only what it knows.

import { el } from "./dom.js";
import { home } from "./state.js";

const TAGS = new Set(
  ("a abbr b blockquote br caption code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i ins kbd" +
    " input li mark ol p pre q s samp section small span strong sub summary sup table tbody td tfoot th thead tr ul var").split(" "),
);
const GONE = new Set("script style iframe object embed template noscript svg math img form button select textarea link meta base title head".split(" "));
const ATTRIBUTES = new Set("title colspan rowspan start data-first-line data-last-line data-dangling data-image data-callout".split(" "));

/** The nodes of some HTML; `opens(reference, anchor)` is called when a link inside the collection is followed. */
export function adopt(html, opens) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.childNodes].flatMap((node) => taken(node, opens));
}

function taken(node, opens) {
  if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.data)];
  if (node.nodeType !== Node.ELEMENT_NODE) return [];
  const tag = node.localName;
  if (GONE.has(tag)) return [];
  const children = [...node.childNodes].flatMap((child) => taken(child, opens));
  if (!TAGS.has(tag)) return children;
  if (tag === "input") return [box(node)];
  const copy = el(tag, {}, children);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
  }
  if (tag === "a") link(copy, node, opens);
  return [copy];
}

/** The box of a task; nothing can be typed or sent. */
const box = (node) => el("span", { class: "task", role: "img", "aria-label": node.hasAttribute("checked") ? "done" : "to do" }, node.hasAttribute("checked") ? "☑" : "☐");

function link(copy, node, opens) {
  const href = node.getAttribute("href") ?? "";
  const { document: reference, anchor } = node.dataset;
  if (reference || anchor) {
    copy.setAttribute("href", reference ? `?${new URLSearchParams({ project: home(), document: reference })}` : "#");
    copy.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      opens(reference ?? "", anchor ?? "");
    });
  } else if (/^(https?|mailto):/i.test(href)) {
    copy.setAttribute("href", href);
    copy.setAttribute("target", "_blank");
    copy.setAttribute("rel", "noopener noreferrer");
    copy.classList.add("outside");
  }
}
