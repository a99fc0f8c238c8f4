"""Results of a wide question: one line for each."""

from __future__ import annotations

from msgspec.structs import replace

from dowse._interfaces.mcp.invisible import visible_line
from dowse._interfaces.mcp.replies import QUOTED, coded
from dowse._interfaces.mcp.tools.outputs import Json
from dowse._interfaces.records import Searched
from dowse._model import Hit, Response
from dowse._text.sentences import shorten

_LONGEST = 160  # characters of a line


def compacted(response: Response) -> Response:
    """The response with one line of each text."""

    def short(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        return tuple(
            replace(hit, text=_matching_line(hit), first_line=hit.line, last_line=hit.line)
            for hit in hits
        )

    return replace(response, hits=short(response.hits), nearest=short(response.nearest))


def compact_structured(response: Response, engine: Searched) -> Json:
    """The results, each by its title, its place and the line that matches."""
    structured: Json = {
        "project": engine.project.name,
        "about": QUOTED,
        "no_good_match": response.no_good_match,
        "hits": [_hit(hit) for hit in response.hits],
        "notices": list(response.notices),
    }
    if not response.hits:
        structured["nearest"] = [_hit(hit) for hit in response.nearest]
    if response.removed or not response.hits:
        structured["removed"] = dict(response.removed)
    return structured


def compact_text(response: Response) -> str:
    """The same as a list."""
    lines = [QUOTED, *(f"> {notice}" for notice in response.notices), ""]
    lines += [] if response.hits else ["Nothing was found."]
    lines += [f"- {coded(one)} kept out {n}" for one, n in response.removed.items()]
    lines += ["Nearest:"] if response.nearest else []
    lines += ["No good match. The nearest results:"] if response.no_good_match else []
    lines += [_line(hit) for hit in response.hits or response.nearest]
    return "\n".join(lines) + "\n"


def _hit(hit: Hit) -> Json:
    project = {"project": hit.project} if hit.project else {}
    return {
        **project,
        "document": visible_line(hit.document),
        "line": hit.line,
        "title": hit.title,
        "text": hit.text,
        "match": hit.match,
    }


def _line(hit: Hit) -> str:
    project = f"{hit.project}: " if hit.project else ""
    place = coded(f"{visible_line(hit.document)}:{hit.line}")
    return f"- {project}{place} {hit.match}: {coded(hit.title)} {coded(hit.text)}"


def _matching_line(hit: Hit) -> str:
    """The line of the text that matches, or the first after it that says something."""
    lines = hit.text.split("\n")
    wanted = min(max(0, hit.line - hit.first_line), len(lines) - 1)
    told = (line for line in lines[wanted:] if line.strip() and not line.lstrip().startswith("#"))
    return shorten(" ".join(next(told, lines[wanted]).split()), _LONGEST)
