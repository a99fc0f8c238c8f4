"""The forms in which results are printed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dowse._interfaces.cli.call import Call, as_json, as_json_line
from dowse._interfaces.cli.draw.hits import draw_response
from dowse._interfaces.cli.draw.links import with_links
from dowse._interfaces.cli.draw.text import safe
from dowse._interfaces.records import ResponseRecord, Searched, hit_records
from dowse._model import Response
from dowse._search.present.budget import count_tokens, tokens_of_texts
from dowse._search.present.formats import as_markdown, grep_line, with_projects

FORMATS = ("text", "json", "jsonl", "md", "files", "grep")
"""For people, for programs (one document, or one line per result), for models, for pipes."""

LISTS = frozenset({"text", "grep"})
"""The forms in which people count results, to open one by its number."""

CARRY_NOTICES = frozenset({"json", "md"})
"""The forms that include notices, so that stderr need not show them."""

SAY_MATCH = frozenset({"text", "json", "md"})
"""The forms that say themselves when there is no good match."""


class Form(Struct, frozen=True):
    """How results are to be printed."""

    name: str  # one of FORMATS
    full: bool = False  # whole texts instead of snippets, for people
    explain: bool = False  # how each result came to its place, for people

    def show(self, call: Call, response: Response, engine: Searched) -> None:
        """Prints a response."""
        if self.name == "text":
            named = with_projects(response)
            drawn = draw_response(named, call.out.width, full=self.full, explain=self.explain)
            call.out.show(with_links(drawn, _paths(response, engine)) if call.out.links else drawn)
        elif call.out.is_terminal:
            call.out.write(safe(os.fsdecode(self._data(response, engine, call.here))))
        else:
            call.out.write_bytes(self._data(response, engine, call.here))

    def _data(self, response: Response, engine: Searched, here: Path) -> bytes:
        if self.name == "json":
            return as_json(ResponseRecord.of(response, engine))
        if self.name == "jsonl":
            shapes = hit_records(response.hits, engine, response.offset)
            return b"".join(as_json_line(shape) for shape in shapes)
        if self.name == "md":
            return as_markdown(with_projects(response)).encode("utf-8", "replace")
        if self.name == "grep":
            return b"".join(map(os.fsencode, _grep_lines(response, engine, here)))
        return b"".join(os.fsencode(path) + b"\n" for path in _files(response, engine))

    def tokens(self, response: Response) -> int:
        """How many tokens a model takes for what it reads of this; of JSON, the texts."""
        if self.name in {"json", "jsonl"}:
            return tokens_of_texts(response)
        if self.name == "md":
            return count_tokens(as_markdown(response))
        drawn = draw_response(response, None, full=self.full, explain=self.explain)
        return count_tokens("".join(f"{line.plain}\n" for line in drawn))


def _grep_lines(response: Response, engine: Searched, here: Path) -> Iterator[str]:
    for hit in response.hits:
        path = engine.of(hit.project).path_of(hit.document)
        shown = path.relative_to(here) if path.is_relative_to(here) else path
        yield grep_line(hit, str(shown)) + "\n"


def _paths(response: Response, engine: Searched) -> dict[str, Path]:
    """The file of each document among the results."""
    return {hit.document: engine.of(hit.project).path_of(hit.document) for hit in response.hits}


def _files(response: Response, engine: Searched) -> list[Path]:
    """The files of the results, each once, best first."""
    found = (engine.of(hit.project).path_of(hit.document) for hit in response.hits)
    return list(dict.fromkeys(found))
