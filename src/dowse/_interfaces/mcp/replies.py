"""What a tool gives back before the protocol wraps it, and how documents are addressed in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct, field

from dowse._interfaces.mcp.quote import visible_line
from dowse._search.formats import count_tokens
from dowse.errors import UsageError

Json = dict[str, Any]
"""A JSON object."""

SCHEME = "dowse://"
"""How the address of every document begins."""

TEMPLATE = "dowse://{project}/{+path}"
"""The form of all addresses."""


class ResourceLink(Struct, frozen=True):
    """A document that a reply points at."""

    uri: str
    name: str  # of the document
    title: str


class Reply(Struct, frozen=True):
    """The answer of a tool, twice: for clients that read structures, and for those that do not."""

    structured: Json
    text: str
    links: tuple[ResourceLink, ...] = field(default=())


def tokens_of_structure(structured: Json) -> int:
    """Count what a model takes for the structure of a reply."""
    return count_tokens(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))


def tokens_of_text(text: str, links: Iterable[ResourceLink]) -> int:
    """Count what a model takes for the text of a reply and its links."""
    linked = " ".join(f"{link.uri} {link.name} {link.title}" for link in links)
    return count_tokens(text) + count_tokens(linked)


def pick(record: Struct, *fields: str) -> Json:
    """Take some fields of a record; what is null is left out."""
    built: Json = msgspec.to_builtins(record)
    return {name: built[name] for name in fields if built[name] is not None}


# ── Documents in replies ─────────────────────────────────────────────────────


def uri_of(project: str, document: str) -> str:
    """Return the address of a document."""
    path = document.encode("utf-8", "surrogatepass")
    return f"{SCHEME}{quote(project, safe='')}/{quote(path, safe='/')}"


def parse_uri(uri: str) -> tuple[str, str]:
    """Read the project and the document of an address."""
    project, slash, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not slash or not project or not path:
        raise UsageError(f"{uri!r} is not an address of dowse.", f"Write it as {TEMPLATE}.")
    return unquote(project), unquote(path, errors="surrogatepass")


def addressed(told: Json, project: str) -> Json:
    """Add to what is told of a document the address to call it by; make its name readable."""
    document = told["document"]
    return told | {"document": visible_line(document), "uri": uri_of(project, document)}


def link_to(project: str, document: str, title: str) -> ResourceLink:
    """Link to a document."""
    return ResourceLink(uri_of(project, document), visible_line(document), title)


def callable_name(project: str, document: str) -> str:
    """Return what a document can be called by: its name, or its address if that hides something."""
    seen = visible_line(document)
    return seen if seen == document else uri_of(project, document)
