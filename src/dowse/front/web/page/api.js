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
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(address(path, parameters), { method, headers, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", "Start it with: dowse serve");
  }
  if (response.status === 401) {
    const given = await askForToken();
    if (given) {
      sessionStorage.setItem(TOKEN, given);
      return call(path, parameters, { method, signal });
    }
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(body.error ?? `The server said ${response.status}.`, body.hint ?? "", response.status);
  return body;
}

/** What a search sends, from the state of the page. */
function asked(state) {
  const parameters = { project: state.project, q: state.query, n: state.count, mode: state.mode };
  for (const { kind, value } of state.filters) parameters[kind] = [...(parameters[kind] ?? []), value];
  parameters.set = Object.entries(state.changes).map(([name, value]) => `${name}=${value}`);
  return parameters;
}

export const projects = () => call("projects", {});
export const status = (project) => call("status", { project });
export const settings = (project) => call("settings", { project });
export const search = (state, signal) => call("search", asked(state), { signal });
export const graph = (project) => call("graph", { project });
export const related = (project, reference) => call("related", { project, reference });
export const startIndexing = (project) => call("index", { project }, { method: "POST" });

/** A document whole, its text rendered by the server as `html`. */
export const documentOf = (project, reference, signal) =>
  call("document", { project, reference, format: "html", whole: true }, { signal });

/** Why a document is where it is in the results, or is not there. */
export const explain = (state, reference, signal) => call("explain", { ...asked(state), reference }, { signal });
