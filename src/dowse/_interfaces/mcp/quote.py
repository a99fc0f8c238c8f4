"""Parts of documents as they are quoted: with nothing hidden, and by a name that hides nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dowse._interfaces.mcp.invisible import may_hide, visible, visible_line
from dowse._interfaces.mcp.replies import ResourceLink
from dowse._interfaces.mcp.tools.outputs import Json
from dowse._interfaces.mcp.uris import uri_of
from dowse.errors import UsageError

if TYPE_CHECKING:
    from dowse._project.engine import Engine


def quoted(engine: Engine, document: str, first_line: int, text: str) -> str:
    """A part of a document that begins in a line, with what the whole document hides replaced."""
    whole = ""
    with suppress(UsageError):  # it may have been deleted since it was found
        whole = engine.get(document).text
    wanted = text.rstrip("\n")
    start = whole.find(wanted, _start_of(whole, first_line)) if may_hide(whole) else -1
    if start < 0:
        return visible(text)
    return visible(whole, start, start + len(wanted)) + text[len(wanted) :]


def _start_of(text: str, line: int) -> int:
    place = 0
    for _ in range(line - 1):
        place = text.find("\n", place) + 1
        if not place:
            break
    return place


def addressed(told: Json, project: str) -> Json:
    """What is told of a document: a name to be read, and the address to call it by."""
    document = told["document"]
    return told | {"document": visible_line(document), "uri": uri_of(project, document)}


def link_to(project: str, document: str, title: str) -> ResourceLink:
    """A link to a document."""
    return ResourceLink(uri_of(project, document), visible_line(document), title)


def callable_name(project: str, document: str) -> str:
    """What a document can be called by: its name, or its address where the name hides something."""
    seen = visible_line(document)
    return seen if seen == document else uri_of(project, document)
