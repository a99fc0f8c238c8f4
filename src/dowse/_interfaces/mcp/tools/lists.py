"""`browse` and `recent`: what is there, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dowse._config.parameters import Arguments
from dowse._interfaces.mcp.invisible import visible_line
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.replies import QUOTED, Reply, coded, pick
from dowse._interfaces.mcp.tools.outputs import LISTED, Json
from dowse._interfaces.records import DocumentRecord, FieldRecord
from dowse._project.engine import Engine
from dowse._project.registry import ALL
from dowse._search.listing import Counted, ListedDocument

_VALUES = 8  # of each field


def browse(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Folders, tags and fields with counts; with a path, only below it, and its documents."""
    below, most = arguments.get("path", ()), arguments["n"]
    with projects.engine(arguments.get("project")) as engine:
        tags, fields = engine.values_of("tag", below), engine.fields(below)
        structured: Json = {
            "project": engine.project.name,
            "about": QUOTED,
            "folders": _counted(_largest(engine.values_of("path", below), most)),
            "tags": _counted(tags[:most]),
            "fields": [_field(FieldRecord.of(one, _VALUES)) for one in fields[:most]],
            "notices": projects.unfinished(engine),
        }
        if below:
            listed = engine.listed("path", "", below)
            structured["documents"] = [_document(one, engine) for one in listed[:most]]
            structured["total"] = len(listed)
    return Reply(structured, "\n".join(_browsed(structured)) + "\n")


def _largest(folders: Sequence[Counted], most: int) -> list[Counted]:
    """The folders with the most documents, in the order of their paths."""
    chosen = sorted(folders, key=lambda one: -one.documents)[:most]
    return [one for one in folders if one in chosen]


def recent(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """The documents that changed last, newest first."""
    since, below = arguments.get("since", ""), arguments.get("path", ())
    with projects.engines(arguments.get("project")) as engines:
        every = [
            (engine, one) for engine in engines for one in engine.listed("modified", since, below)
        ]
        every.sort(key=lambda one: -one[1].entry.modified)
        several = len(engines) > 1
        shown = [_document(one, engine, several=several) for engine, one in every[: arguments["n"]]]
        structured = {
            "project": ALL if several else engines[0].project.name,
            "about": QUOTED,
            "documents": shown,
            "total": len(every),
            "notices": [one for engine in engines for one in projects.unfinished(engine)],
        }
    heading = f"\n{len(shown)} of {len(every)} documents, newest first:"
    lines = [QUOTED, *_notices(structured), heading, *map(_line, shown)]
    return Reply(structured, "\n".join(lines) + "\n")


def _notices(told: Json) -> list[str]:
    return [f"> {one}" for one in told["notices"]]


def _document(listed: ListedDocument, engine: Engine, *, several: bool = False) -> Json:
    told = pick(DocumentRecord.of(listed, engine), LISTED)
    named = {"document": visible_line(told.pop("id")), "title": visible_line(told.pop("title"))}
    return ({"project": engine.project.name} if several else {}) | named | told


def _counted(counted: Sequence[Counted]) -> list[Json]:
    return [{"name": visible_line(one.name), "documents": one.documents} for one in counted]


def _field(field: FieldRecord) -> Json:
    told: Json = msgspec.to_builtins(field)
    return told | {"name": visible_line(field.name), "values": _counted(field.values)}


def _browsed(told: Json) -> Iterator[str]:
    yield QUOTED
    yield from _notices(told)
    for name in ("folders", "tags"):
        yield f"\n{name.capitalize()}: {_names(told[name])}"
    yield "\nFields:"
    for field in told["fields"]:
        rest = ", …" if field["different"] > len(field["values"]) else ""
        yield f"- {coded(field['name'])} ({field['documents']}): {_names(field['values'])}{rest}"
    if "documents" in told:
        yield f"\n{len(told['documents'])} of {told['total']} documents:"
        yield from map(_line, told["documents"])


def _names(counted: Sequence[Json]) -> str:
    listed = (f"{coded(one['name'])} {one['documents']}" for one in counted)
    return ", ".join(listed) or "none"


def _line(told: Json) -> str:
    project = f"{told['project']}: " if "project" in told else ""
    date = str(told["modified"])[:10]
    return f"- {project}{coded(told['document'])} {coded(told['title'])} {date}"
