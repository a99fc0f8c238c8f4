// What can be done with an open document: copy where it is, cite it, open it in another program.

import { announce, byId, el } from "./dom.js";

const HERE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The buttons for a document; `hit` is the result that is read, if it is one. */
export function actions(passage, hit, line) {
  return el(
    "div",
    { class: "actions", role: "group", "aria-label": "This document" },
    copying("copy-path", "Copy path", passage.path),
    copying("copy-citation", "Copy citation", citation(passage, hit)),
    HERE.has(location.hostname) ? [editor(passage, hit?.line ?? line ?? 1), obsidian(passage)] : null,
  );
}

/** Title, heading, and a place that `dowse get` and `dowse open` take. */
export function citation(passage, hit) {
  const heading = hit?.header_path.at(-1);
  const title = heading && heading !== passage.title ? `${passage.title} › ${heading}` : passage.title;
  return `${title} (${passage.document}${hit ? (hit.page ? ` p. ${hit.page}` : `:${hit.first_line}-${hit.last_line}`) : ""})`;
}

function copying(id, label, text) {
  const button = el("button", { type: "button", class: "quiet act", id, title: text, on: { click: () => copied(button, label, text) } }, label);
  return button;
}

async function copied(button, label, text) {
  const done = await copy(text);
  button.textContent = done ? "Copied" : "Not copied";
  announce(done ? `Copied: ${text}` : "The browser does not allow copying.");
  setTimeout(() => (button.textContent = label), 1500);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyTheOldWay(text); // there is no clipboard on pages without encryption
  }
}

function copyTheOldWay(text) {
  const field = el("textarea", { class: "unseen", value: text });
  const focused = document.activeElement;
  byId("reader").append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return done;
}

function editor(passage, line) {
  if (!passage.editor) return el("button", { type: "button", class: "quiet act", id: "open-editor", on: { click: nameEditor } }, "Open in editor");
  return el("a", { class: "quiet act", id: "open-editor", href: passage.editor.replace("{line}", String(line)) }, "Open in editor");
}

/** Says how to name an editor that a browser can open. */
function nameEditor({ target }) {
  if (byId("editor-hint")) return;
  target.parentElement.after(el("p", { class: "notice", role: "status", id: "editor-hint" }, "A browser cannot open any editor that is set or installed here. The setting open.editor names one."));
}

function obsidian(passage) {
  return passage.obsidian ? el("a", { class: "quiet act", id: "open-obsidian", href: passage.obsidian }, "Open in Obsidian") : null;
}
