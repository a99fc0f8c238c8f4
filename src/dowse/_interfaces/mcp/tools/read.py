"""`get_document` and `related_documents`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._interfaces.mcp.quote import QUOTED, coded, fenced, quoted, visible_line
from dowse._interfaces.mcp.replies import (
    SCHEME,
    Json,
    Reply,
    ResourceLink,
    addressed,
    callable_name,
    link_to,
    parse_uri,
    pick,
    tokens_of_structure,
    tokens_of_text,
)
from dowse._interfaces.records import NeighbourRecord, PassageRecord, RelatedRecord
from dowse._search.formats import count_tokens, fill, fit
from dowse.errors import NotFound, UsageError

if TYPE_CHECKING:
    from dowse._config.parameters import Arguments
    from dowse._interfaces.mcp.projects import VisibleProjects
    from dowse._model import Passage
    from dowse._project.engine import Engine

MAX_TOKENS = 8000
"""How long a reply may be when the call does not say."""

_MOST = 100  # documents of one pattern
_NAMED = 10  # documents that are named of those left out
_PASSAGE = ("document", "title", "first_line", "last_line", "total_lines", "text")
_WILD = re.compile(r"[*?]")
_GROUPS = {
    "links_to": "Links to",
    "linked_from": "Linked from",
    "community": "Same community",
    "similar": "Similar",
}


def get_document(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Read documents, or parts of them; the notices name those that cannot be found."""
    budget = arguments.get("max_tokens", MAX_TOKENS)
    with ExitStack() as held:
        found, failures = _found(projects, arguments, held)
        project = found[0][0].project.name
        passages = [
            replace(
                one,
                title=visible_line(one.title),
                text=quoted(engine, one.document, one.first_line, one.text),
            )
            for engine, one in found
        ]
        searched = {engine.project.name: engine for engine, _ in found}.values()
        told = [visible_line(str(error)) for error in failures]
        told += [one for engine in searched for one in projects.unfinished(engine)]
        shown = _within(found, passages, project, told, budget)
    if not shown.structured["passages"]:
        raise UsageError(f"Nothing fits into {budget} tokens.", "Give more with max_tokens.")
    return shown


def _found(
    projects: VisibleProjects, arguments: Arguments, held: ExitStack
) -> tuple[list[tuple[Engine, Passage]], list[UsageError]]:
    """Find the passages with their engines, each opened once, and what could not be found."""
    found: list[tuple[Engine, Passage]] = []
    failures: list[UsageError] = []
    engines: dict[str | None, list[Engine]] = {}
    for written in arguments["references"]:
        try:
            project, reference = _parsed(written, arguments)
            if project not in engines:
                engines[project] = held.enter_context(projects.engines(project))
            found += _matching(engines[project], reference) or [_one(engines[project], reference)]
        except UsageError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    return found, failures


def _matching(engines: Sequence[Engine], pattern: str) -> list[tuple[Engine, Passage]]:
    """Find the documents whose paths match a pattern; none where it is the name of a document."""
    if not _WILD.search(pattern):
        return []
    wanted = re.compile(fnmatch.translate(pattern.removeprefix("./")), re.IGNORECASE)
    ids = [(engine, one.id) for engine in engines for one in engine.documents()]
    if any(id_ == pattern for _, id_ in ids):
        return []
    return [(engine, engine.get(id_)) for engine, id_ in ids if wanted.match(id_)][:_MOST]


def _one(engines: Sequence[Engine], reference: str) -> tuple[Engine, Passage]:
    """Find the passage that a reference means in the one project that has it."""
    found: list[tuple[Engine, Passage]] = []
    failures: list[UsageError] = []
    for engine in engines:
        try:
            found.append((engine, engine.get(reference)))
        except UsageError as error:
            # The agent may have no command line.
            listed = isinstance(error, NotFound) and "dowse ls" in error.hint
            hint = "Find it with query_documents."
            failures.append(NotFound(error.message, hint) if listed else error)
    if not found:
        raise failures[0]
    if len(found) > 1:
        names = ", ".join(engine.project.name for engine, _ in found)
        raise UsageError(
            f"{reference!r} is in several projects.", f"Pass project, one of: {names}."
        )
    return found[0]


def _parsed(reference: str, arguments: Arguments) -> tuple[str | None, str]:
    """Return the project and the document that a reference means."""
    if reference.startswith(SCHEME):
        return parse_uri(reference)
    return arguments.get("project"), reference


def _within(
    found: list[tuple[Engine, Passage]],
    passages: list[Passage],
    project: str,
    notices: list[str],
    budget: int,
) -> Reply:
    """Build the reply, each of its two forms with as much of the passages as the budget takes."""
    engines = [engine for engine, _ in found]
    names = [callable_name(engine.project.name, one.document) for engine, one in found]

    def reply(room: int) -> Reply:
        texts = fit([one.text for one in passages], max(0, room))
        kept = [
            (engine, _cut(passage, text))
            for engine, passage, text in zip(engines, passages, texts, strict=True)
            if text is not None
        ]
        left = _shortened(names, passages, [one for _, one in kept], budget)
        return _reply(kept, project, [*notices, *left])

    whole = reply(sum(count_tokens(one.text) for one in passages))

    def fitted(tokens: Callable[[Reply], int]) -> Reply:
        return whole if tokens(whole) <= budget else fill(reply, tokens, budget, budget)

    text = fitted(lambda one: tokens_of_text(one.text, one.links))
    structured = fitted(lambda one: tokens_of_structure(one.structured)).structured
    return Reply(structured, text.text, text.links)


def _cut(passage: Passage, text: str) -> Passage:
    if text == passage.text:
        return passage
    return replace(passage, text=text, last_line=passage.first_line + text.count("\n"))


def _shortened(
    names: list[str], passages: list[Passage], kept: list[Passage], budget: int
) -> Iterator[str]:
    if kept and kept[-1] != passages[len(kept) - 1]:
        name = names[len(kept) - 1]
        yield (
            f"{name} was cut to fit into {budget} tokens. Go on with the reference"
            f" {name}:{kept[-1].last_line}, or raise max_tokens."
        )
    if left := names[len(kept) :]:
        rest = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        yield f"Left out, since {budget} tokens were full: {', '.join(left[:_NAMED])}{rest}."


def _reply(kept: list[tuple[Engine, Passage]], project: str, notices: list[str]) -> Reply:
    parts = [QUOTED, *(f"> {notice}" for notice in notices)]
    passages: list[Json] = []
    links: dict[str, ResourceLink] = {}
    for engine, passage in kept:
        place = engine.project.name
        passages.append(addressed(pick(PassageRecord.of(passage, engine), *_PASSAGE), place))
        links[passage.document] = link_to(place, passage.document, passage.title)
        name = coded(visible_line(passage.document))
        lines = f"lines {passage.first_line}-{passage.last_line} of {passage.total_lines}"
        parts += [f"## {name} · {lines}", fenced(passage.text)]
    structured = {"project": project, "about": QUOTED, "passages": passages, "notices": notices}
    return Reply(structured, "\n\n".join(parts) + "\n", tuple(links.values()))


def related_documents(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Find what belongs to a document: by links, by community, by meaning."""
    project, reference = _parsed(arguments["reference"], arguments)
    with projects.engines(project) as engines:
        engine, meant = _one(engines, reference)
        record = RelatedRecord.of(engine.related(meant.document, arguments["n"]), engine)
        notices = projects.unfinished(engine)
    groups = {name: _neighbours(getattr(record, name), record.project) for name in _GROUPS}
    structured = {
        "project": record.project,
        "about": QUOTED,
        "document": visible_line(record.document),
        "title": visible_line(record.title),
        **groups,
        "dangling": [visible_line(one) for one in record.dangling],
        "notices": notices,
    }
    links = {
        one["uri"]: ResourceLink(one["uri"], one["document"], one["title"])
        for group in groups.values()
        for one in group
    }
    return Reply(structured, _told(structured), tuple(links.values()))


def _neighbours(records: tuple[NeighbourRecord, ...], project: str) -> list[Json]:
    seen = [
        replace(one, title=visible_line(one.title), score=one.score and round(one.score, 4))
        for one in records
    ]
    return [addressed(pick(one, "document", "title", "score"), project) for one in seen]


def _told(related: Json) -> str:
    lines = [QUOTED, *(f"> {one}" for one in related["notices"])]
    lines += [f"\n# Belongs to {coded(related['document'])}"]
    for name, heading in _GROUPS.items():
        if related[name]:
            lines.append(f"\n## {heading}\n")
        for one in related[name]:
            cosine = f" · {one['score']:.2f}" if "score" in one else ""
            lines.append(f"- {coded(one['document'])} {coded(one['title'])}{cosine}")
    if related["dangling"]:
        lines.append("\n## Leads nowhere yet\n")
        lines += [f"- {coded(one)}" for one in related["dangling"]]
    return "\n".join(lines) + "\n"
