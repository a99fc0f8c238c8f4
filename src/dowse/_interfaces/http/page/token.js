// Asks the user for the server's token.

import { byId } from "./dom.js";

/** Asks for the token; null when the user gives none. `wasWrong` says that the last one was. */
export function ask(wasWrong) {
  const dialog = byId("token");
  byId("token-wrong").hidden = !wasWrong;
  if (!dialog.open) {
    dialog.returnValue = ""; // of the last time: Escape leaves it as it was
    byId("token-value").value = "";
    dialog.showModal();
  }
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "given" ? byId("token-value").value.trim() : null), { once: true });
  });
}
