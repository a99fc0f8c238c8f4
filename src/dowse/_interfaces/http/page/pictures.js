// Pictures of a document. Those in the project's folder are shown once they come into view.

import * as api from "./api.js";
import { el } from "./dom.js";

/** Replaces the names of pictures in a text by the pictures; what cannot be had stays in words. */
export function load(text, project, document) {
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      replace(target, project, document);
    }
  });
  for (const name of text.querySelectorAll("[data-image]")) if (name.dataset.image) watcher.observe(name);
}

async function replace(place, project, document) {
  try {
    const { type, data } = await api.picture(project, document, place.dataset.image);
    const picture = el("img", { class: "picture-of-document", alt: place.textContent, title: place.textContent, src: `data:${type};base64,${data}` });
    picture.addEventListener("error", () => picture.replaceWith(place)); // it is no picture after all
    place.replaceWith(picture);
  } catch {
    place.dataset.image = ""; // its description stays
  }
}
