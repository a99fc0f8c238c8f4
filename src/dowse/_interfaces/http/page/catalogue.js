// What the searched projects have: their documents, and the values that filters can take.

import * as api from "./api.js";
import { ALL, state } from "./state.js";

const LISTED = new Set(["tag", "path", "category", "author", "source"]);

const QUESTION = /^#{1,6} +(\p{L}[^\n#[\]{}<>*_`]{12,70}[?？؟])[ #]*$/gmu; // a heading that is one, in plain words
const ASKED = 4; // questions that are shown

let names = []; // of all projects
let kept = new Map(); // lists that have been asked for, by what they are

/** Takes over the names of the projects. */
export function setProjects(known) {
  names = known;
  forget();
}

/** The projects that are searched now. */
export const searched = () => (state.project === ALL ? names : [state.project]);

/** Forgets all lists, as when the index has changed. */
export function forget() {
  kept = new Map();
}

/** The first documents by an order, `modified` or `links`, each with its project. */
export function documents(sort, limit) {
  return once(`documents ${sort} ${limit}`, async () => {
    const lists = await each(async (project) => (await api.documents(project, sort, limit)).items.map((one) => ({ ...one, project })));
    const key = sort === "links" ? (one) => one.links_in : (one) => Date.parse(one.modified) || 0;
    return lists.flat().sort((a, b) => key(b) - key(a)).slice(0, limit);
  });
}

/** Questions that headings of these documents ask, each once; documents that cannot be read ask none. */
export async function questions(documents) {
  const ids = [...new Set(documents.map((one) => JSON.stringify([one.project, one.id])))];
  const texts = await once(`questions ${ids}`, () => Promise.all(ids.map((id) => api.textOf(...JSON.parse(id)).catch(() => ""))));
  const asked = texts.flatMap((text) => [...text.matchAll(QUESTION)].map((match) => match[1]));
  return [...new Set(asked)].slice(0, ASKED);
}

/** The values that a filter can take, as `[{ value, count }]`; empty where they cannot be listed. */
export function values(filter) {
  if (filter === "where") return once("where", async () => summed((await each(fieldValues)).flat()));
  if (!LISTED.has(filter)) return [];
  return once(`values ${filter}`, async () => summed((await each((project) => counted(project, filter))).flat()));
}

const counted = async (project, filter) => (await api.values(project, filter)).items.map((one) => ({ value: one.name, count: one.documents }));

async function fieldValues(project) {
  const { items } = await api.fields(project);
  return items.flatMap((field) => field.values.map((one) => ({ value: `${field.name}=${one.name}`, count: one.documents })));
}

function summed(rows) {
  const counts = new Map();
  for (const { value, count } of rows) counts.set(value, (counts.get(value) ?? 0) + count);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count || a.value.localeCompare(b.value));
}

/** Asks every searched project; one that cannot be listed has nothing. */
const each = (ask) => Promise.all(searched().map((project) => ask(project).catch(() => [])));

function once(what, ask) {
  const key = `${state.project}\n${what}`;
  if (!kept.has(key)) kept.set(key, ask());
  return kept.get(key);
}
