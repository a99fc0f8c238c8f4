// The last searches. They are kept in this browser and are sent nowhere.

const KEPT = "dowse-searches";
const MOST = 8;

/** The last searches, newest first. */
export function searches() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return []; // there is no place to keep them, or something else was kept there
  }
}

/** Notes a search. Words that were typed on the way to it are not kept. */
export function note(query) {
  const text = query.trim();
  if (!text) return;
  const others = searches().filter((one, place) => one !== text && !(place === 0 && isOnTheWay(one, text)));
  keep([text, ...others].slice(0, MOST));
}

/** Forgets all searches. */
export function clear() {
  keep([]);
}

const isOnTheWay = (one, other) => one.startsWith(other) || other.startsWith(one);

function keep(list) {
  try {
    localStorage.setItem(KEPT, JSON.stringify(list));
  } catch {
    // Without a place to keep them, there are none.
  }
}
