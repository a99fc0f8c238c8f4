"""`query_documents` and `search_with_hypothesis`: results within a budget of tokens.

A reply is written in two forms, a structure and a text, each with as much as the budget takes. For
wide questions a compact form gives one line for each result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._config.request import build_request
from dowse._interfaces.mcp.quote import QUOTED, coded, quoted, visible_line
from dowse._interfaces.mcp.replies import (
    Json,
    Reply,
    ResourceLink,
    addressed,
    callable_name,
    link_to,
    pick,
    tokens_of_structure,
    tokens_of_text,
)
from dowse._interfaces.records import HitRecord, Searched, hit_records
from dowse._project.registry import ALL
from dowse._search.formats import as_markdown, count_tokens, with_projects, within_budget
from dowse._text.sentences import shorten
from dowse.errors import NotFound, UsageError

if TYPE_CHECKING:
    from dowse._config.parameters import Arguments
    from dowse._interfaces.mcp.projects import VisibleProjects
    from dowse._model import Hit, Response
    from dowse._project.engine import Engine

MAX_TOKENS = 4000
"""How long a reply may be when the call does not say."""

_LONGEST = 160  # characters of a line, in the compact form
_TOP_N = "search.top_n"
_MANY = 50  # results, where as many are wanted as fit
# What is always given of a hit; `_extras` come where there is something to say.
_HIT = (
    "rank",
    "match",
    "id",
    "document",
    "title",
    "header_path",
    "line",
    "first_line",
    "last_line",
    "modified",
    "text",
)


def query_documents(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find the passages that answer a query."""
    return _search(projects, arguments)


def search_with_hypothesis(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find the passages that are like a text which might stand in an answer."""
    return _search(projects, {**arguments, "query": arguments["hypothesis"], "mode": "hyde"})


def _search(projects: VisibleProjects, arguments: Arguments) -> Reply:
    request = build_request(arguments, _as_many_as_fit(arguments))
    with projects.searched(arguments.get("project")) as engine:
        found = engine.search(request)
        projects.pool.metrics.searched(engine.project.name, found.seconds)
        told = projects.progress(engine.project.name) or _freshness(projects, found, engine)
        seen = _visible(replace(found, notices=(*found.notices, *filter(None, [told]))), engine)
        budget = request.max_tokens or MAX_TOKENS
        if arguments.get("compact"):
            return _within(_one_line_each(seen), budget, engine, compact=True)
        return _within(seen, budget, engine, compact=False)


def _as_many_as_fit(arguments: Arguments) -> dict[str, int]:
    """Return the settings of a call that does not say how many: a budget means all that fit."""
    if "n" in arguments or any(one.startswith(_TOP_N) for one in arguments.get("set", ())):
        return {}
    fits = "max_tokens" in arguments or arguments.get("compact")
    return {_TOP_N: _MANY} if fits else {}


def _freshness(projects: VisibleProjects, found: Response, engine: Searched) -> str:
    """Say that files are not as they were indexed, and have it updated; empty when they are."""
    stale = [(engine.of(hit.project), hit.document) for hit in found.hits if hit.stale]
    here = {one.project.name: one.project for one, document in stale if _is_here(one, document)}
    told = [projects.refresh(project) for project in here.values()]
    if told:
        return told[0]
    # An index that came from another machine has no files here, and a run would find none.
    return "Some of these files are not here: this is what was indexed." if stale else ""


def _is_here(engine: Engine, document: str) -> bool:
    try:
        return engine.path_of(document).exists()
    except NotFound:  # its folder does not belong to the project any more
        return False


def _within(response: Response, budget: int, engine: Searched, *, compact: bool) -> Reply:
    """Build the reply, each of its two forms with as much as the budget takes."""

    def structured(response: Response) -> Json:
        return _structured(response, engine, compact=compact)

    def text(response: Response) -> tuple[str, tuple[ResourceLink, ...]]:
        return (_compact_text(response), ()) if compact else _text(response, engine)

    first = _fitted(response, budget, lambda one: tokens_of_structure(structured(one)), engine)
    second = _fitted(response, budget, lambda one: tokens_of_text(*text(one)), engine)
    return Reply(structured(first), *text(second))


def _fitted(
    whole: Response, budget: int, tokens: Callable[[Response], int], engine: Searched
) -> Response:
    """Keep as much of the results, or of what was nearest, as the budget takes."""
    response = _with_next(whole, within_budget(whole, budget, tokens), budget, tokens, engine)
    told = (*response.notices, f"What came near was cut to fit into {budget} tokens.")
    while response.nearest and tokens(response) > budget:
        response = replace(response, nearest=response.nearest[:-1], notices=told)
    if tokens(response) > budget:
        raise UsageError(f"Nothing fits into {budget} tokens.", "Give more with max_tokens.")
    return response


def _with_next(
    whole: Response,
    fitted: Response,
    budget: int,
    tokens: Callable[[Response], int],
    engine: Searched,
) -> Response:
    """Name the places of results that were left out, as far as the budget goes."""
    places = [
        f"{callable_name(engine.of(hit.project).project.name, hit.document)}"
        f":{hit.first_line}-{hit.last_line}"
        for hit in whole.hits[len(fitted.hits) :]
    ]
    room, named = budget - tokens(fitted), 0
    while named < len(places) and room > 0:
        room -= count_tokens(f", {places[named]}")
        named += 1
    while named:
        said = f"{fitted.notices[-1]} Next: {', '.join(places[:named])}."
        longer = replace(fitted, notices=(*fitted.notices[:-1], said))
        if tokens(longer) <= budget:
            return longer
        named -= 1
    return fitted


def _visible(response: Response, engine: Searched) -> Response:
    def shown(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        return tuple(
            replace(
                hit,
                title=visible_line(hit.title),
                header_path=tuple(map(visible_line, hit.header_path)),
                tags=tuple(map(visible_line, hit.tags)),
                text=quoted(engine.of(hit.project), hit.document, hit.first_line, hit.text),
                score=round(hit.score, 4),
            )
            for hit in hits
        )

    return replace(
        response,
        hits=shown(response.hits),
        nearest=shown(response.nearest),
        notices=tuple(map(visible_line, response.notices)),
        # Conditions are written as for the command line.
        removed={name.removeprefix("--"): count for name, count in response.removed.items()},
    )


def _structured(response: Response, engine: Searched, *, compact: bool) -> Json:
    def told(hits: tuple[Hit, ...], offset: int = 0) -> list[Json]:
        return list(map(_compact_hit, hits)) if compact else _hits(hits, engine, offset)

    counts = {"counts": _changes(response.counts), "merged": response.merged}
    structured: Json = {
        "project": engine.project.name,
        "about": QUOTED,
        **({} if compact else {"query": response.query}),
        "no_good_match": response.no_good_match,
        "hits": told(response.hits, response.offset),
        "notices": list(response.notices),
        **({} if compact else {"statistics": counts}),
    }
    if not response.hits:
        structured["nearest"] = told(response.nearest)
    if response.removed or not response.hits:
        structured["removed"] = dict(response.removed)
    return structured


def _text(response: Response, engine: Searched) -> tuple[str, tuple[ResourceLink, ...]]:
    """Write the results as Markdown, with links to their documents."""
    named = replace(response, hits=_named(response.hits), nearest=_named(response.nearest))
    counts = ", ".join(f"{stage} {left}" for stage, left in _changes(response.counts).items())
    told = f"Candidates left after each stage: {counts}. Merged: {response.merged}."
    titles = {
        (engine.of(hit.project).project.name, hit.document): hit.title for hit in response.hits
    }
    links = tuple(link_to(*place, title) for place, title in titles.items())
    return f"{QUOTED}\n\n{as_markdown(with_projects(named))}\n{told}\n", links


def _changes(counts: Mapping[str, int]) -> dict[str, int]:
    """Keep the stages that changed how many candidates there are, each with what it left."""
    changed, last = {}, 0
    for stage, left in counts.items():
        if left != last:
            changed[stage] = last = left
    return changed


def _named(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    return tuple(replace(hit, document=visible_line(hit.document)) for hit in hits)


def _hits(hits: tuple[Hit, ...], engine: Searched, offset: int = 0) -> list[Json]:
    records = hit_records(hits, engine, offset)
    told = [addressed(pick(record, *_HIT) | _extras(record), record.project) for record in records]
    if engine.project.name != ALL:
        return told
    return [one | {"project": record.project} for one, record in zip(told, records, strict=True)]


def _extras(record: HitRecord) -> Json:
    """Give what is said of a hit only where there is something to say."""
    extras: Json = {
        "reason": record.reason,
        "score": record.score,
        "more": [f"{one.first_line}-{one.last_line}" for one in record.more],
        "tags": list(record.tags),
        "stale": record.stale,
        "page": record.page,
    }
    return {name: value for name, value in extras.items() if value}


# ── The compact form ─────────────────────────────────────────────────────────


def _one_line_each(response: Response) -> Response:
    """Keep one line of each text."""

    def short(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        return tuple(
            replace(hit, text=_matching_line(hit), first_line=hit.line, last_line=hit.line)
            for hit in hits
        )

    return replace(response, hits=short(response.hits), nearest=short(response.nearest))


def _compact_text(response: Response) -> str:
    """Write the results as a list."""
    lines = [QUOTED, *(f"> {notice}" for notice in response.notices), ""]
    lines += [] if response.hits else ["Nothing was found."]
    lines += [f"- {coded(one)} kept out {n}" for one, n in response.removed.items()]
    lines += ["Nearest:"] if response.nearest else []
    lines += ["No good match. The nearest results:"] if response.no_good_match else []
    lines += [_compact_line(hit) for hit in response.hits or response.nearest]
    return "\n".join(lines) + "\n"


def _compact_hit(hit: Hit) -> Json:
    project = {"project": hit.project} if hit.project else {}
    return {
        **project,
        "document": visible_line(hit.document),
        "line": hit.line,
        "title": hit.title,
        "text": hit.text,
        "match": hit.match,
    }


def _compact_line(hit: Hit) -> str:
    project = f"{hit.project}: " if hit.project else ""
    place = coded(f"{visible_line(hit.document)}:{hit.line}")
    return f"- {project}{place} {hit.match}: {coded(hit.title)} {coded(hit.text)}"


def _matching_line(hit: Hit) -> str:
    """Return the line of the text that matches, or the first after it that says something."""
    lines = hit.text.split("\n")
    wanted = min(max(0, hit.line - hit.first_line), len(lines) - 1)
    told = (line for line in lines[wanted:] if line.strip() and not line.lstrip().startswith("#"))
    return shorten(" ".join(next(told, lines[wanted]).split()), _LONGEST)
