"""`query_documents` and `search_with_hypothesis`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dowse.engine import Engine
from dowse.errors import NotFound, UsageError
from dowse.front.mcp.desk import Desk
from dowse.front.mcp.outputs import HIT, Json
from dowse.front.mcp.parameters import Arguments
from dowse.front.mcp.quoting import addressed, link_to, quoted
from dowse.front.mcp.replies import QUOTED, Link, Reply, pick
from dowse.front.mcp.visible import visible_line
from dowse.present import as_markdown, within_budget
from dowse.records.search import HitShape
from dowse.retrieve import Filters
from dowse.settings import SHORT_NAMES
from dowse.types import Hit, Response

MAX_TOKENS = 4000
"""How long a reply may be when the call does not say."""

_LISTS = ("category", "author", "tag", "path", "source", "language")


def query_documents(desk: Desk, arguments: Arguments) -> Reply:
    """The passages that answer a query."""
    return _search(desk, arguments["query"], arguments)


def search_with_hypothesis(desk: Desk, arguments: Arguments) -> Reply:
    """The passages that are like a text which might stand in an answer."""
    return _search(desk, arguments["hypothesis"], {**arguments, "mode": "hyde"})


def _search(desk: Desk, query: str, arguments: Arguments) -> Reply:
    with desk.engine(arguments.get("project")) as engine:
        found = engine.search(query, filters=_filters(arguments), changes=_changes(arguments))
        desk.service.metrics.searched(engine.project.name, found.seconds)
        told = desk.progress(engine.project.name) or _freshness(desk, found, engine)
        seen = _visible(replace(found, notices=(*found.notices, *filter(None, [told]))), engine)
        return _within(seen, arguments.get("max_tokens", MAX_TOKENS), engine)


def _freshness(desk: Desk, found: Response, engine: Engine) -> str:
    """What is to be said of files that are not as they were indexed; empty when they are."""
    stale = [hit.document for hit in found.hits if hit.stale]
    if any(_is_here(engine, document) for document in stale):
        return desk.refresh(engine.project)
    # An index that came from another machine has no files here, and a run would find none.
    return "Some of these files are not here: this is what was indexed." if stale else ""


def _is_here(engine: Engine, document: str) -> bool:
    try:
        return engine.path_of(document).exists()
    except NotFound:  # its folder does not belong to the project any more
        return False


def _within(response: Response, budget: int, engine: Engine) -> Reply:
    """The reply with as much of the results, or of what was nearest, as the budget takes."""
    response = within_budget(response, budget, lambda one: _reply(one, engine).tokens)
    told = (*response.notices, f"What came near was cut to fit into {budget} tokens.")
    while response.nearest and _reply(response, engine).tokens > budget:
        response = replace(response, nearest=response.nearest[:-1], notices=told)
    return _reply(response, engine)


def _filters(arguments: Arguments) -> Filters:
    for name in _LISTS:
        if not all(value.strip() for value in arguments.get(name, ())):
            raise UsageError(f"{name} names nothing.", "Leave it out, or give it a value.")
    lists = {name: tuple(arguments.get(name, ())) for name in _LISTS}
    return Filters(**lists, after=arguments.get("after", ""), before=arguments.get("before", ""))


def _changes(arguments: Arguments) -> dict[str, Any]:
    changes = {full: arguments[name] for name, full in SHORT_NAMES.items() if name in arguments}
    if arguments.get("mmr") and arguments.get("per_doc"):
        raise UsageError("mmr and per_doc are two ways of choosing results.", "Use one.")
    if arguments.get("per_doc"):
        changes["diversity.mmr"] = False  # it would take the place of the limit
    return changes


def _visible(response: Response, engine: Engine) -> Response:
    def shown(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        return tuple(
            replace(
                hit,
                title=visible_line(hit.title),
                header_path=tuple(map(visible_line, hit.header_path)),
                tags=tuple(map(visible_line, hit.tags)),
                text=quoted(engine, hit.document, hit.first_line, hit.text),
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


def _reply(response: Response, engine: Engine) -> Reply:
    structured: dict[str, Any] = {
        "project": engine.project.name,
        "about": QUOTED,
        "query": response.query,
        "hits": _hits(response.hits, engine),
        "notices": list(response.notices),
    }
    if not response.hits:
        structured["nearest"] = _hits(response.nearest, engine)
        structured["removed"] = dict(response.removed)
    text = as_markdown(
        replace(response, hits=_named(response.hits), nearest=_named(response.nearest))
    )
    return Reply(structured, f"{QUOTED}\n\n{text}", _links(response, engine))


def _named(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    return tuple(replace(hit, document=visible_line(hit.document)) for hit in hits)


def _hits(hits: tuple[Hit, ...], engine: Engine) -> list[Json]:
    project = engine.project.name
    shapes = [HitShape.of(rank, hit, engine) for rank, hit in enumerate(hits, start=1)]
    return [addressed(pick(shape, HIT), project) for shape in shapes]


def _links(response: Response, engine: Engine) -> tuple[Link, ...]:
    titles = {hit.document: hit.title for hit in response.hits}
    project = engine.project.name
    return tuple(link_to(project, one, title) for one, title in titles.items())
