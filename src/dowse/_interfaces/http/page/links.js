// The links that the graph draws: those of one project, or those of all projects side by side.

import * as api from "./api.js";
import * as catalogue from "./catalogue.js";
import { ALL, state } from "./state.js";

/** What names a document in the graph: its path, with its project where there are several. */
export const keyOf = (project, document) => (state.project === ALL ? `${project}: ${document}` : document);

/** The documents and links of what is searched, and why some projects have none: `{ nodes, edges, failed }`. */
export async function gathered() {
  const names = catalogue.searched();
  const told = await Promise.all(names.map((project) => api.graph(project).catch((error) => ({ project, error }))));
  const good = told.filter((one) => !one.error);
  if (!good.length && told[0]) throw told[0].error;
  const failed = told.filter((one) => one.error).map(({ project, error }) => `${project}: ${error.message} ${error.hint ?? ""}`);
  return { nodes: good.flatMap(nodesOf), edges: good.flatMap(edgesOf), failed };
}

function nodesOf({ project, documents }) {
  return documents.map((one) => ({ ...one, id: keyOf(project, one.id), document: one.id, project, community: one.community === null ? null : keyOf(project, one.community), degree: 0 }));
}

function edgesOf({ project, edges }) {
  return edges.map(({ source, target }) => ({ source: keyOf(project, source), target: keyOf(project, target) }));
}
