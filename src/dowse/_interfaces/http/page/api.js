// The only place that knows the server's addresses. Everything else sees plain records.

const TOKEN = "dowse-token";

/** What went wrong, with what to do about it. */
export class ApiError extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

let askForToken = async () => null;
let heard = () => {};
let token = "";

/** Says who is told, after every call, whether the server has answered. */
export function onHeard(listener) {
  heard = listener;
}

/** Takes over the token that was kept, or that a link brought along; it does not stay in the address. */
export function start() {
  const told = new URLSearchParams(location.hash.slice(1));
  const brought = told.get("token");
  if (brought) {
    told.delete("token");
    history.replaceState(null, "", told.size ? `#${told}` : location.pathname + location.search);
    keep(brought);
    return;
  }
  try {
    token = sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    // Without a place to keep it, it is asked for each time the page is opened.
  }
}

function keep(given) {
  token = given;
  try {
    sessionStorage.setItem(TOKEN, given);
  } catch {
    // As above.
  }
}

/** Says who asks the user for the server's token when one is needed. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

function address(path, parameters) {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  url.search = "";
  url.hash = "";
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, String(one));
    }
  }
  return url;
}

async function call(path, parameters, { method = "GET", signal } = {}) {
  const sent = token;
  const headers = sent ? { Authorization: `Bearer ${encoded(sent)}` } : {};
  let response;
  try {
    response = await fetch(address(path, parameters), { method, headers, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard(false);
    throw new ApiError("The server does not answer.", "Start it with: dowse serve");
  }
  heard(true);
  if (response.status === 401) {
    // While this one was on its way, another may have brought the right one.
    const given = token === sent ? await askForToken(Boolean(sent)) : token;
    if (given) {
      keep(given);
      return call(path, parameters, { method, signal });
    }
    throw new ApiError("This server asks for a token.", "Reload the page to give it.", 401);
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(body.error ?? `The server said ${response.status}.`, body.hint ?? "", response.status);
  return body;
}

/** Headers hold bytes: other letters go as those of UTF-8. */
const encoded = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** What a search sends, from the state of the page. */
function asked(state) {
  const parameters = { project: state.project, query: state.query, n: state.count, mode: state.mode };
  for (const { kind, value } of state.filters) parameters[kind] = [...(parameters[kind] ?? []), value];
  parameters.set = Object.entries(state.changes).map(([name, value]) => `${name}=${value}`);
  return parameters;
}

/** Whether the server is there; it asks for no token. */
export const ping = () => call("healthz", {});
export const projects = () => call("projects", {});
export const status = (project) => call("status", { project });
export const settings = (project) => call("settings", { project });
export const search = (state, signal) => call("search", asked(state), { signal });
export const answer = (state, signal) => call("answer", asked(state), { signal });
export const graph = (project) => call("graph", { project });
export const related = (project, reference) => call("related", { project, reference });
export const startIndexing = (project) => call("index", { project }, { method: "POST" });
export const documents = (project, sort, limit) => call("documents", { project, sort, limit });
export const values = (project, filter) => call("values", { project, filter, limit: 1000 });
export const fields = (project) => call("fields", { project });
export const picture = (project, reference, name) => call("picture", { project, reference, name });

/** A document whole, as text. */
export const textOf = async (project, reference) => (await call("document", { project, reference, whole: true })).text;

/** A document whole, its text rendered by the server as `html`. */
export const documentOf = (project, reference, signal) =>
  call("document", { project, reference, format: "html", whole: true }, { signal });

/** Why a document is where it is in the results, or is not there. */
export const explain = (state, reference, signal) => call("explain", { ...asked(state), reference }, { signal });
