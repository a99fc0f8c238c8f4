"""What agents can call: what each tool does, and at the end the table of all tools.

A reply is written in two forms, a structure and a text, each with as much as its budget of tokens
takes. Names and texts of documents are quoted, with nothing hidden.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from mcp_types import ResourceLink
from msgspec import Struct
from msgspec.structs import replace

from dowse._config.parameters import NAMES_FOR_MODELS, Arguments, Parameter, object_schema
from dowse._config.request import build_request, option, options_of
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.replies import (
    QUOTED,
    SCHEME,
    Json,
    Reply,
    advised,
    callable_name,
    link_to,
    parse_uri,
    quoted,
    tokens_of_structure,
    tokens_of_text,
    uri_of,
    visible_line,
)
from dowse._project.registry import ALL, Project
from dowse._search.formats import (
    as_markdown,
    change_hits,
    coded,
    count_tokens,
    fenced,
    fill,
    fit,
    to_one_line,
    with_projects,
    within_budget,
)
from dowse._search.listing import Counted, ListedDocument, list_fields, list_values
from dowse._search.strategies import SearchOptions
from dowse._text.dates import iso
from dowse._text.file_names import media_type
from dowse.errors import DowseError, NotFound, UsageError

if TYPE_CHECKING:
    from dowse._interfaces.records import Searched
    from dowse._model import Hit, Neighbour, Passage, Response
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine

SEARCH_TOKENS = 4000
"""How long a reply with results may be when the call does not say."""

READ_TOKENS = 8000
"""How long a reply with passages may be when the call does not say."""


def _heading(notices: Sequence[str]) -> list[str]:
    """Return the lines that every text which quotes documents begins with."""
    return [QUOTED, *(f"> {notice}" for notice in notices)]


# ── Searching ────────────────────────────────────────────────────────────────

_TOP_N = "search.top_n"
_MANY = 50  # results, where as many are wanted as fit
# Fields of a result that are only there where they say something.
_LEFT_OUT = frozenset({"reason", "score", "context", "more", "tags", "stale", "page", "project"})


def query_documents(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find the passages that answer a query.

    Unless the call says whether results are `compact`, a weak one is the line that matches, and
    where nothing fits all of them are.
    """
    compact = arguments.get("compact")
    changed: dict[str, int] = {}
    if "n" not in arguments and not any(one.startswith(_TOP_N) for one in arguments.get("set", ())):
        # A budget without a number of results means all that fit.
        changed = {_TOP_N: _MANY} if compact or "max_tokens" in arguments else {}
    request = build_request(arguments, changed)
    budget = request.max_tokens or SEARCH_TOKENS
    with projects.searched(arguments.get("project")) as engine:
        found = engine.search(request)
        projects.pool.metrics.searched(engine.project.name, found.seconds)
        told = projects.progress(engine.project.name) or _freshness(projects, found, engine)
        seen = _visible(replace(found, notices=(*found.notices, *filter(None, [told]))), engine)
    in_lines = found.no_good_match or not found.hits if compact is None else compact
    text = _compact_text if in_lines else _text

    def shown(hit: Hit) -> Hit:
        return to_one_line(hit) if in_lines or (compact is None and hit.match == "weak") else hit

    structured = partial(_structured, compact=in_lines)
    seen = change_hits(seen, shown)
    first = _fitted(seen, budget, lambda one: tokens_of_structure(structured(one)))
    second = _fitted(seen, budget, lambda one: tokens_of_text(*text(one)))
    return Reply(structured(first), *text(second))


def search_with_hypothesis(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find the passages that are like a text which might stand in an answer."""
    return query_documents(
        projects, {**arguments, "query": arguments["hypothesis"], "mode": "hyde"}
    )


def _freshness(projects: VisibleProjects, found: Response, engine: Searched) -> str:
    """Say that files are not as they were indexed, and have it updated; empty when they are."""
    stale = [hit for hit in found.hits if hit.stale]
    here = {}
    for hit in stale:
        searched = engine.of(hit.project)
        with suppress(NotFound):  # its folder does not belong to the project any more
            if searched.path_of(hit.document).exists():
                here[searched.project.name] = searched.project
    for project in here.values():
        projects.pool.index(project)
    if here:
        return (
            "Some of these files have changed since they were indexed; the index is being updated"
            " in the background."
        )
    # An index that came from another machine has no files here, and a run would find none.
    return "Some of these files are not here: this is what was indexed." if stale else ""


def _visible(response: Response, engine: Searched) -> Response:
    """Show what texts of documents hide."""

    def shown(hit: Hit) -> Hit:
        return replace(
            hit,
            title=visible_line(hit.title),
            context=visible_line(hit.context),
            header_path=tuple(map(visible_line, hit.header_path)),
            tags=tuple(map(visible_line, hit.tags)),
            text=quoted(engine.of(hit.project), hit.document, hit.first_line, hit.text),
            score=round(hit.score, 4),
        )

    return replace(
        change_hits(response, shown),
        notices=tuple(map(visible_line, response.notices)),
        # Conditions are written as for the command line.
        removed={name.removeprefix("--"): count for name, count in response.removed.items()},
    )


def _fitted(whole: Response, budget: int, tokens: Callable[[Response], int]) -> Response:
    """Keep as much of the results, or of what was nearest, as the budget takes."""
    fitted = within_budget(whole, budget, tokens)
    places = [
        f"{callable_name(hit.project, hit.document)}:{hit.first_line}-{hit.last_line}"
        for hit in whole.hits[len(fitted.hits) :]
    ]

    def naming(count: int) -> Response:
        """Name the first places of what was left out."""
        if count <= 0:
            return fitted
        said = f"{fitted.notices[-1]} Next: {', '.join(places[:count])}."
        return replace(fitted, notices=(*fitted.notices[:-1], said))

    counts = range(1, len(places) + 1)
    response = naming(bisect_right(counts, budget, key=lambda count: tokens(naming(count))))
    told = (*response.notices, f"What came near was cut to fit into {budget} tokens.")
    while response.nearest and tokens(response) > budget:
        response = replace(response, nearest=response.nearest[:-1], notices=told)
    if tokens(response) > budget:
        raise UsageError(f"Nothing fits into {budget} tokens.", "Give more with max_tokens.")
    return response


def _structured(response: Response, *, compact: bool) -> Json:
    """Write the results as a structure; some fields only where there is something to say."""
    tell = _compact_hit if compact else _hit
    hits = [tell(hit, response.project) for hit in response.hits]
    structured: Json = {"project": response.project, "about": QUOTED}
    if not compact:
        structured["query"] = response.query
    structured |= {
        "no_good_match": response.no_good_match,
        "hits": hits,
        "notices": list(response.notices),
        "statistics": {"counts": _changes(response), "merged": response.merged},
    }
    if not hits:
        structured["nearest"] = [tell(hit, response.project) for hit in response.nearest]
    if response.removed or not hits:
        structured["removed"] = dict(response.removed)
    return structured


def _hit(hit: Hit, searched: str) -> Json:
    """Tell a result."""
    told: Json = {
        "rank": hit.rank,
        "match": hit.match,
        "id": hit.id,
        "document": visible_line(hit.document),
        "title": hit.title,
        "context": hit.context,
        "header_path": list(hit.header_path),
        "line": hit.line,
        "first_line": hit.first_line,
        "last_line": hit.last_line,
        "modified": hit.date,
        "text": hit.text,
        "reason": hit.reason,
        "score": hit.score,
        "more": [f"{one.first_line}-{one.last_line}" for one in hit.more],
        "tags": list(hit.tags),
        "stale": hit.stale,
        "page": hit.page,
        "uri": uri_of(hit.project, hit.document),
        "project": hit.project if searched == ALL else "",
    }
    return {name: value for name, value in told.items() if value or name not in _LEFT_OUT}


def _text(response: Response) -> tuple[str, tuple[ResourceLink, ...]]:
    """Write the results as Markdown, with links to their documents."""
    shown = change_hits(response, lambda hit: replace(hit, document=visible_line(hit.document)))
    counts = ", ".join(f"{stage} {left}" for stage, left in _changes(response).items())
    told = f"Candidates left after each stage: {counts}. Merged: {response.merged}."
    titles = {(hit.project, hit.document): hit.title for hit in response.hits}
    return (
        f"{QUOTED}\n\n{as_markdown(with_projects(shown))}\n{told}\n",
        tuple(link_to(*place, title) for place, title in titles.items()),
    )


def _changes(response: Response) -> dict[str, int]:
    """Keep the stages that changed how many candidates there are, each with what it left."""
    stages = zip(response.counts.items(), [0, *response.counts.values()], strict=False)
    return {stage: left for (stage, left), last in stages if left != last} or {"retrieve": 0}


def _compact_hit(hit: Hit, searched: str) -> Json:
    told: Json = {"project": hit.project} if hit.project != searched else {}
    return told | {
        "document": visible_line(hit.document),
        "line": hit.line,
        "title": hit.title,
        "text": hit.text,
        "match": hit.match,
        **({"context": hit.context} if hit.context else {}),
    }


def _compact_text(response: Response) -> tuple[str, tuple[ResourceLink, ...]]:
    """Write the results as a list of lines, without links."""
    lines = [*_heading(response.notices), ""]
    if not response.hits:
        lines.append("Nothing was found.")
    lines += [f"- {coded(one)} kept out {n}" for one, n in response.removed.items()]
    if response.nearest:
        lines.append("Nearest:")
    if response.no_good_match:
        lines.append("No good match. The nearest results:")
    for hit in response.hits or response.nearest:
        project = f"{hit.project}: " if hit.project != response.project else ""
        place = coded(f"{visible_line(hit.document)}:{hit.line}")
        context = f" ({hit.context})" if hit.context else ""
        lines.append(
            f"- {project}{place} {hit.match}: {coded(hit.title)} {coded(hit.text)}{context}"
        )
    return "\n".join(lines) + "\n", ()


# ── Reading ──────────────────────────────────────────────────────────────────

_MOST = 100  # documents of one pattern
_NAMED = 10  # documents that are named of those left out
_WILD = re.compile(r"[*?]")


def get_document(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Read documents, or parts of them; the notices name those that cannot be found."""
    found: list[tuple[Engine, Passage]] = []
    opened: dict[str | None, Engine | AllProjects] = {}
    failures: list[UsageError] = []
    with ExitStack() as held:
        for written in arguments["references"]:
            try:
                project, reference = _parsed(written, arguments)
                if project not in opened:
                    opened[project] = held.enter_context(projects.searched(project))
                found += _meant(opened[project], reference)
            except UsageError as error:
                failures.append(error)
        if failures and not found:
            raise failures[0]
        shown = [
            (
                engine.project.name,
                replace(
                    one,
                    title=visible_line(one.title),
                    text=quoted(engine, one.document, one.first_line, one.text),
                ),
            )
            for engine, one in found
        ]
        told = [advised(error) for error in failures]
        for engine in {engine.project.name: engine for engine, _ in found}.values():
            told += projects.unfinished(engine)
    return _passages_within(arguments.get("max_tokens", READ_TOKENS), shown, told)


def _parsed(reference: str, arguments: Arguments) -> tuple[str | None, str]:
    """Return the project and the document that a reference means."""
    if reference.startswith(SCHEME):
        return parse_uri(reference)
    return arguments.get("project"), reference


def _meant(searched: Engine | AllProjects, reference: str) -> list[tuple[Engine, Passage]]:
    """Find the documents whose paths match a pattern, or the one passage that is meant."""
    if _WILD.search(reference):
        listed = searched.listed()
        pattern = re.compile(fnmatch.translate(reference.removeprefix("./")), re.IGNORECASE)
        matching = [one for one in listed if pattern.match(one.entry.id)]
        if matching and all(one.entry.id != reference for one in listed):
            engines = [(searched.of(one.project), one.entry.id) for one in matching[:_MOST]]
            return [(engine, engine.get(id_)) for engine, id_ in engines]
    engine = searched.having(reference)
    return [(engine, engine.get(reference))]


def _passages_within(budget: int, found: list[tuple[str, Passage]], notices: list[str]) -> Reply:
    """Build the reply, each of its two forms with as much of the passages as the budget takes."""
    names = [callable_name(project, one.document) for project, one in found]

    def reply(room: int) -> Reply:
        told, parts, passages = list(notices), [], []
        links: dict[str, ResourceLink] = {}
        texts = fit([one.text for _, one in found], max(0, room))
        for name, (project, one), text in zip(names, found, texts, strict=True):
            if text is None:
                break
            last = one.last_line
            if text != one.text:
                last = one.first_line + text.count("\n")
                told.append(
                    f"{name} was cut to fit into {budget} tokens. Go on with the reference"
                    f" {name}:{last}, or raise max_tokens."
                )
            passages.append(
                {
                    "document": visible_line(one.document),
                    "title": one.title,
                    "first_line": one.first_line,
                    "last_line": last,
                    "total_lines": one.total_lines,
                    "text": text,
                    "uri": uri_of(project, one.document),
                }
            )
            links[one.document] = link_to(project, one.document, one.title)
            lines = f"lines {one.first_line}-{last} of {one.total_lines}"
            parts += [f"## {coded(visible_line(one.document))} · {lines}", fenced(text)]
        if left := names[len(passages) :]:
            rest = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            told.append(
                f"Left out, since {budget} tokens were full: {', '.join(left[:_NAMED])}{rest}."
            )
        structured = {
            "project": found[0][0],
            "about": QUOTED,
            "passages": passages,
            "notices": told,
        }
        return Reply(
            structured, "\n\n".join([*_heading(told), *parts]) + "\n", tuple(links.values())
        )

    whole = reply(sum(count_tokens(one.text) for _, one in found))

    def fitted(tokens: Callable[[Reply], int]) -> Reply:
        return whole if tokens(whole) <= budget else fill(reply, tokens, budget, budget)

    structured = fitted(lambda one: tokens_of_structure(one.structured)).structured
    if not structured["passages"]:
        raise UsageError(f"Nothing fits into {budget} tokens.", "Give more with max_tokens.")
    return replace(fitted(lambda one: tokens_of_text(one.text, one.links)), structured=structured)


def related_documents(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find what belongs to a document: by links, by community, by meaning."""
    named, reference = _parsed(arguments["reference"], arguments)
    with projects.searched(named) as searched:
        engine = searched.having(reference)
        related = engine.related(reference, arguments["n"])
        notices = projects.unfinished(engine)
    project = engine.project.name

    def told(neighbours: Sequence[Neighbour]) -> list[Json]:
        return [
            {"document": visible_line(one.id), "title": visible_line(one.title)}
            | ({} if one.score is None else {"score": round(one.score, 4)})
            | {"uri": uri_of(project, one.id)}
            for one in neighbours
        ]

    groups = {
        "links_to": ("Links to", told(related.linked)),
        "linked_from": ("Linked from", told(related.linking)),
        "community": ("Same community", told(related.community)),
        "similar": ("Similar", told(related.similar)),
    }
    dangling = [visible_line(one) for one in related.dangling]
    document = visible_line(related.document)
    lines = [*_heading(notices), f"\n# Related to {coded(document)}"]
    links = {}
    for heading, group in groups.values():
        lines += [f"\n## {heading}\n"] if group else []
        for one in group:
            cosine = f" · {one['score']:.2f}" if "score" in one else ""
            lines.append(f"- {coded(one['document'])} {coded(one['title'])}{cosine}")
            links[one["uri"]] = ResourceLink(
                uri=one["uri"],
                name=one["document"],
                title=one["title"],
                mime_type=media_type(one["document"]),
            )
    if dangling:
        lines += ["\n## Unresolved links\n", *(f"- {coded(one)}" for one in dangling)]
    structured = {
        "project": project,
        "about": QUOTED,
        "document": document,
        "title": visible_line(related.title),
        **{name: group for name, (_, group) in groups.items()},
        "dangling": dangling,
        "notices": notices,
    }
    return Reply(structured, "\n".join(lines) + "\n", tuple(links.values()))


# ── What there is before anything is asked ───────────────────────────────────

_VALUES = 8  # of each field


def browse(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """List folders, tags and fields with counts; with a path, only below it, and its documents."""
    below, most = arguments.get("path", ()), arguments["n"]
    with projects.searched(arguments.get("project")) as searched:
        entries = searched.documents()
        folders = list_values(entries, "path", below)
        largest = sorted(folders, key=lambda one: -one.documents)[:most]
        structured: Json = {
            "project": searched.project.name,
            "about": QUOTED,
            "folders": _counted([one for one in folders if one in largest]),  # by their paths
            "tags": _counted(list_values(entries, "tag", below)[:most]),
            "fields": [
                {
                    "name": visible_line(one.name),
                    "documents": one.documents,
                    "different": len(one.values),
                    "values": _counted(one.values[:_VALUES]),
                }
                for one in list_fields(entries, below)[:most]
            ],
            "notices": projects.unfinished(searched),
        }
        if below:
            listed = searched.listed("path", "", below)
            structured["documents"] = _documents(listed[:most], searched.project.name)
            structured["total"] = len(listed)
    lines = _heading(structured["notices"])
    lines += [f"\n{name.capitalize()}: {_names(structured[name])}" for name in ("folders", "tags")]
    lines.append("\nFields:")
    for one in structured["fields"]:
        rest = ", …" if one["different"] > len(one["values"]) else ""
        lines.append(f"- {coded(one['name'])} ({one['documents']}): {_names(one['values'])}{rest}")
    if below:
        documents = structured["documents"]
        lines.append(f"\n{len(documents)} of {structured['total']} documents:")
        lines += map(_document_line, documents)
    return Reply(structured, "\n".join(lines) + "\n")


def recent(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """List the documents that changed last, newest first."""
    since, below = arguments.get("since", ""), arguments.get("path", ())
    with projects.searched(arguments.get("project")) as searched:
        every = searched.listed("modified", since, below)
        shown = _documents(every[: arguments["n"]], searched.project.name)
        structured: Json = {
            "project": searched.project.name,
            "about": QUOTED,
            "documents": shown,
            "total": len(every),
            "notices": projects.unfinished(searched),
        }
    lines = [
        *_heading(structured["notices"]),
        f"\n{len(shown)} of {len(every)} documents, newest first:",
        *map(_document_line, shown),
        "",
    ]
    return Reply(structured, "\n".join(lines))


def _counted(counted: Sequence[Counted]) -> list[Json]:
    return [{"name": visible_line(one.name), "documents": one.documents} for one in counted]


def _names(counted: Sequence[Json]) -> str:
    return ", ".join(f"{coded(one['name'])} {one['documents']}" for one in counted) or "none"


def _documents(listed: Sequence[ListedDocument], searched: str) -> list[Json]:
    return [
        ({} if one.project == searched else {"project": one.project})
        | {
            "document": visible_line(one.entry.id),
            "title": visible_line(one.entry.fields.title),
            "modified": iso(one.entry.modified),
            "links_in": one.links_in,
        }
        for one in listed
    ]


def _document_line(told: Json) -> str:
    project = f"{told['project']}: " if "project" in told else ""
    return f"- {project}{coded(told['document'])} {coded(told['title'])} {told['modified'][:10]}"


def project_info(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Tell which projects there are; of one how fresh it is, and what it cannot do, and why."""
    workspace = projects.pool.workspace
    known: list[Json] = [
        {
            "name": one.name,
            "roots": [str(root) for root in one.roots],
            "description": visible_line(workspace.description(one)),
        }
        for one in projects.pool.projects()
    ]
    info: Json = {"projects": known, "missing": [], "notices": []}
    project = projects.find(arguments.get("project"))
    if project is not None:
        info |= _state(projects, project)
    for one in known if project is None else ():
        with suppress(DowseError, OSError):  # one that cannot be read stops no other project
            state = _state(projects, workspace.projects.get(one["name"]))
            info["notices"] += [f"{state['project']}: {notice}" for notice in state["notices"]]
            one |= {"model": state["model"], "status": state["status"], "missing": state["missing"]}
    lines = []
    for one in known:
        said = f" ({one['description']})" if one["description"] else ""
        lines.append(f"- project {one['name']}: {', '.join(one['roots'])}{said}")
        lines += [f"  {line}" for line in _state_lines(one)] if "status" in one else []
    if "status" in info:
        lines += ["", f"# {info['project']}", "", *_state_lines(info)]
    lines += [f"- missing: {one}" for one in info["missing"]]
    lines += [f"- {one}" for one in info["notices"]]
    return Reply(info, "\n".join(lines) + "\n")


def _state(projects: VisibleProjects, project: Project) -> Json:
    from dowse._project.doctor import missing_abilities  # noqa: PLC0415  70 ms; the handshake does not wait

    engine = projects.pool.open(project)
    with engine.hold():
        status = engine.status()
        missing = list(missing_abilities(engine)) if status.stamp else []
    notices = [
        *status.notices,
        *(
            f"{root} is not here; what was indexed stays."
            for root in project.roots
            if not root.exists()
        ),
    ]
    job = projects.pool.job(project.name)
    if (job is None or job.ended.is_set()) and not notices and not status.up_to_date:
        notices += filter(None, [projects.failure(project.name)])  # before it is tried once more
        job = projects.pool.index(project)
        notices.append("The index is being updated in the background.")
    state: Json = {
        "project": project.name,
        "model": str((status.stamp or {}).get("model", "none")),
        "status": {
            "indexed": status.indexed,
            "up_to_date": status.up_to_date,
            "freshness": msgspec.to_builtins(status.freshness),
            "counts": msgspec.to_builtins(status.counts),
        },
        "missing": missing,
        "notices": notices,
    }
    if job is not None:
        event = job.event
        told = {
            "running": not job.ended.is_set(),
            "stage": event.stage if event else "",  # empty before it has said anything
            "done": event.done if event else 0,
            "total": event.total if event else None,  # not given while nobody knows
            "unit": event.unit if event else "files",
            "error": str(job.error) if job.error else None,
        }
        state["job"] = {name: value for name, value in told.items() if value is not None}
    return state


def _state_lines(info: Json) -> Iterator[str]:
    status, counts = info["status"], info["status"]["counts"]
    if not status["indexed"]:
        yield "- not indexed yet"
    else:
        yield f"- {counts['documents']} documents, {counts['chunks']} chunks, model {info['model']}"
        behind = "- behind: {new} new, {changed} changed, {deleted} deleted"
        if any(status["freshness"].values()):
            yield behind.format_map(status["freshness"])
        elif status["up_to_date"]:
            yield "- up to date"
        else:
            yield f"- vectors: {counts['embedded']} of {counts['chunks']} chunks"
    if job := info.get("job"):
        state = "running" if job["running"] else "ended"
        total = f" of {job['total']}" if "total" in job else ""
        said = f": {job['stage']} {job['done']}{total} {job['unit']}" if job["stage"] else ""
        yield f"- indexing {state}{said}"
        if "error" in job:
            yield f"- indexing failed: {job['error']}"


# ── The table ────────────────────────────────────────────────────────────────


class ToolSpec(Struct, frozen=True):
    """One tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    gives: tuple[str, ...]  # the fields that its structure always has
    run: Callable[[VisibleProjects, Arguments], Reply]
    alias: bool = False  # another tool's other name: listed briefly

    @property
    def input(self) -> Json:
        """The schema of what it takes; another name of a tool leaves out what that explains."""
        described = {
            NAMES_FOR_MODELS.get(one.name, one.name): one.schema(brief=True)
            | ({} if self.alias or not one.meaning else {"description": one.meaning})
            | ({} if one.default is None else {"default": one.default})
            for one in self.parameters
        }
        return object_schema(self.parameters, described)


def _quoting(*fields: str) -> tuple[str, ...]:
    """Name the fields of a structure that quotes documents."""
    return ("project", "about", *fields, "notices")


_PROJECT = Parameter("project", "A project, or all; all if unclear.")
_COMPACT = Parameter(
    "compact", "One line per result; without it, only weak results are lines.", "boolean"
)
_OF_A_HYPOTHESIS = ("n", "tag", "path", "after", "before", "min_confidence", "max_tokens")

_USUAL = SearchOptions().top_n
_SHORTER = {
    "n": f"How many results; {_USUAL}, or all that fit with compact or max_tokens.",
    "offset": "Skip this many results.",
    "mode": "By words and meaning (hybrid), one of them, names in code, or likeness (hyde).",
}
_OF_A_QUERY = (
    options_of("search")[0],
    _PROJECT,
    *(
        replace(one, meaning=_SHORTER.get(one.name, one.meaning))
        for one in options_of("search")[1:]
    ),
    _COMPACT,
)

TOOLS = (
    ToolSpec(
        "query_documents",
        "Search documents",
        "Find the passages of the user's documents that answer a query, best first, by meaning"
        ' and by words. Start here. In the query, "quoted words" must follow each other, -word'
        " must be absent, a OR b must hold, restor* completes a word, and tag:x, title:x, path:x,"
        " file:x, author:x and x:y of any frontmatter field x must hold.",
        _OF_A_QUERY,
        _quoting("hits"),
        query_documents,
    ),
    ToolSpec(
        "search_with_hypothesis",
        "Search with a made-up answer",
        "Find passages that mean the same as a text you make up: write the answer you expect, in"
        " the words the documents would use. Helps when query_documents finds little.",
        (
            replace(
                option("query"), name="hypothesis", meaning="One to five sentences.", aliases=()
            ),
            _PROJECT,
            *(replace(option(name), meaning="") for name in _OF_A_HYPOTHESIS),  # explained above
        ),
        _quoting("hits"),
        search_with_hypothesis,
    ),
    ToolSpec(
        "get_document",
        "Read documents",
        "Read documents, sections, passages or lines of them; several at once. A reference is a"
        " path or the end of one, path:line, path:first-last, a pattern such as guides/*.md, the"
        " id or uri of a hit, a title or alias, or a link as documents write it:"
        " [[Note#Heading]], file.md#anchor.",
        (
            Parameter(
                "references",
                'Such as ["guides/restore.md:12-31"].',
                "texts",
                required=True,
                low=1,
                high=20,
            ),
            _PROJECT,
            option("max_tokens"),
        ),
        _quoting("passages"),
        get_document,
    ),
    ToolSpec(
        "related_documents",
        "Related documents",
        "Documents related to a document: links from and to it, its community, similar ones; and"
        " its unresolved links.",
        (
            Parameter("reference", "As for get_document.", required=True),
            _PROJECT,
            replace(
                option("n"),
                meaning="At most this many of each kind.",
                high=1_000,
                default=10,
                setting="",
            ),
        ),
        _quoting("document", "links_to", "linked_from", "community", "similar", "dangling"),
        related_documents,
    ),
    ToolSpec(
        "browse",
        "Browse folders, tags and fields",
        "Folders, tags and frontmatter fields to filter by, with values, and how many documents"
        " have each. With path, also the documents there.",
        (
            replace(option("path"), meaning="Only below these folders."),
            _PROJECT,
            replace(option("n"), meaning="At most this many of each kind.", default=30, setting=""),
        ),
        _quoting("folders", "tags", "fields"),
        browse,
    ),
    ToolSpec(
        "recent",
        "Recent changes",
        "Documents that changed last, newest first.",
        (
            replace(option("after"), name="since", meaning="2024-06-30, yesterday, 7d."),
            replace(option("path"), meaning=""),
            _PROJECT,
            replace(option("n"), meaning="", default=20, setting=""),
        ),
        _quoting("documents", "total"),
        recent,
    ),
    ToolSpec(
        "project_info",
        "Projects and their state",
        "The projects; how many documents each has, its model, whether its index is up to date or"
        " being built, and what is missing and why.",
        (_PROJECT,),
        ("projects", "missing", "notices"),
        project_info,
    ),
)
"""All tools, in the order they are listed."""

ALIASES = {"search": "query_documents", "get": "get_document", "get_project_info": "project_info"}
"""Names that another system used for tools, for agents that know it."""


def tools(*, compat: bool = False) -> dict[str, ToolSpec]:
    """Return the tools by name; with `compat`, also under their other names."""
    found = {one.name: one for one in TOOLS}
    for name, known in ALIASES.items() if compat else ():
        found[name] = replace(
            found[known],
            name=name,
            title=name,
            description=f"Another name of {known}, where the parameters are explained.",
            alias=True,
        )
    return found
