"""The forms in which results are printed, and fitting them into a token budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.engine import Engine
from dowse.front.cli.call import Call, as_json, as_json_line
from dowse.front.cli.draw_hits import draw_response
from dowse.front.cli.lines import counted, safe
from dowse.front.cli.search_shapes import ResponseShape, hit_shapes
from dowse.present import as_markdown, count_tokens, fit
from dowse.types import Response

FORMATS = ("text", "json", "jsonl", "md", "files")
"""For people, for programs (one document, or one line per result), for models, for pipes."""

CARRY_NOTICES = frozenset({"json", "md"})
"""The forms that hold what else is to be said, so that it need not be said beside them."""


@dataclass(frozen=True, slots=True)
class Form:
    """How results are to be printed."""

    name: str  # one of FORMATS
    full: bool = False  # whole texts instead of snippets, for people
    explain: bool = False  # how each result came to its place, for people

    def show(self, call: Call, response: Response, engine: Engine) -> None:
        """Prints a response."""
        if self.name == "text":
            drawn = draw_response(response, call.out.width, full=self.full, explain=self.explain)
            call.out.show(drawn)
        elif call.out.is_terminal:
            call.out.write(safe(os.fsdecode(self._data(response, engine))))
        else:
            call.out.write_bytes(self._data(response, engine))

    def _data(self, response: Response, engine: Engine) -> bytes:
        if self.name == "json":
            return as_json(ResponseShape.of(response, engine))
        if self.name == "jsonl":
            return b"".join(as_json_line(hit) for hit in hit_shapes(response.hits, engine))
        if self.name == "md":
            return as_markdown(response).encode("utf-8", "replace")
        return b"".join(os.fsencode(path) + b"\n" for path in _files(response, engine))

    def tokens(self, response: Response) -> int:
        """How many tokens a model takes for what it reads of this; of JSON, the texts."""
        if self.name in {"json", "jsonl"}:
            return sum(count_tokens(hit.text) for hit in response.hits)
        if self.name == "md":
            return count_tokens(as_markdown(response))
        drawn = draw_response(response, None, full=self.full, explain=self.explain)
        return count_tokens("\n".join(line.plain for line in drawn))


def _files(response: Response, engine: Engine) -> list[Path]:
    """The files of the results, each once, best first."""
    return [engine.path_of(name) for name in dict.fromkeys(hit.document for hit in response.hits)]


def within_budget(
    response: Response, max_tokens: int, tokens: Callable[[Response], int]
) -> Response:
    """The response with as much of its results as a budget takes; `tokens` counts what it takes."""
    bare = tokens(replace(response, hits=()))
    around = [
        tokens(replace(response, hits=(replace(hit, text=""),))) - bare for hit in response.hits
    ]
    room = max_tokens - bare
    fitted = _cut(response, room, max(around, default=0), max_tokens)
    # What is printed can take more than its parts: the notice of what was left out is one more.
    while fitted.hits and (excess := tokens(fitted) - max_tokens) > 0:
        room -= excess
        fitted = _cut(response, room, max(around), max_tokens)
    return fitted


def _cut(response: Response, room: int, around: int, max_tokens: int) -> Response:
    texts = fit([hit.text for hit in response.hits], max(0, room), around)
    pairs = zip(response.hits, texts, strict=True)
    hits = tuple(replace(hit, text=text) for hit, text in pairs if text is not None)
    if hits == response.hits:
        return response
    found = counted(len(response.hits), "result")
    shortened = hits and hits[-1].text != response.hits[len(hits) - 1].text
    told = f"{len(hits)} of {found} fit into {max_tokens:,} tokens"
    notice = f"{told}, the last one cut." if shortened else f"{told}."
    return replace(response, hits=hits, notices=(*response.notices, notice))
