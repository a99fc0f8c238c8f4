"""What there is before anything is asked: `browse`, `recent` and `project_info`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from dowse._interfaces.mcp.quote import QUOTED, coded, visible_line
from dowse._interfaces.mcp.replies import Json, Reply, pick
from dowse._interfaces.records import DocumentRecord, FieldRecord, ProjectRecord, StatusRecord
from dowse._project.registry import ALL
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._config.parameters import Arguments
    from dowse._interfaces.mcp.projects import VisibleProjects
    from dowse._project.engine import Engine
    from dowse._project.pool import Job
    from dowse._project.registry import Project
    from dowse._search.listing import Counted, ListedDocument

_VALUES = 8  # of each field


def browse(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """List folders, tags and fields with counts; with a path, only below it, and its documents."""
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
    """Choose the folders with the most documents, in the order of their paths."""
    chosen = sorted(folders, key=lambda one: -one.documents)[:most]
    return [one for one in folders if one in chosen]


def recent(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """List the documents that changed last, newest first."""
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
    told = pick(DocumentRecord.of(listed, engine), "id", "title", "modified", "links_in")
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


# ── Projects ─────────────────────────────────────────────────────────────────


def project_info(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Tell which projects there are; of one how fresh it is, and what it cannot do, and why."""
    info: Json = {
        "projects": [_project(projects, one) for one in projects.all()],
        "missing": [],
        "notices": [],
    }
    try:
        project = projects.project(arguments.get("project"))
    except DowseError as error:
        if "project" in arguments or not info["projects"]:
            raise
        info["notices"] = [str(error)]
    else:
        engine = projects.pool.open(project)
        with engine.hold():
            info |= _state(projects, engine)
    return Reply(info, _told(info))


def _project(projects: VisibleProjects, project: Project) -> Json:
    record = ProjectRecord.of(project, projects.pool.workspace)
    told = pick(record, "name", "roots", "description")
    return told | {"description": visible_line(told["description"])}


def _state(projects: VisibleProjects, engine: Engine) -> Json:
    from dowse._project.doctor import missing_abilities  # noqa: PLC0415  70 ms; the handshake does not wait

    project = engine.project
    record = StatusRecord.of(engine.status())
    away = [str(root) for root in project.roots if not root.exists()]
    notices = [*record.notices, *(f"{root} is not here; what was indexed stays." for root in away)]
    job = projects.pool.job(project.name)
    running = job is not None and not job.ended.is_set()
    if not running and not notices and not record.up_to_date:
        notices += filter(None, [projects.failure(project.name)])  # before it is tried once more
        job = projects.pool.index(project)
        notices.append("The folder has changed; the index is being updated in the background.")
    return {
        "project": project.name,
        "model": str((record.stamp or {}).get("model", "none")),
        "status": pick(record, "indexed", "up_to_date", "freshness", "counts"),
        **({} if job is None else {"job": _job(job)}),
        "missing": list(missing_abilities(engine)) if record.indexed else [],
        "notices": notices,
    }


def _job(job: Job) -> Json:
    event = job.event
    told = {
        "running": not job.ended.is_set(),
        "stage": event.stage if event else "",  # empty before it has said anything
        "done": event.done if event else 0,
        "total": event.total if event else None,  # null while nobody knows
        "unit": event.unit if event else "files",
        "error": str(job.error) if job.error else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _told(info: Json) -> str:
    lines = []
    for one in info["projects"]:
        said = f" ({one['description']})" if one["description"] else ""
        lines.append(f"- project {one['name']}: {', '.join(one['roots'])}{said}")
    if "status" in info:
        lines += ["", f"# {info['project']}", "", *_status_lines(info)]
    lines += [f"- missing: {one}" for one in info["missing"]]
    lines += [f"- {one}" for one in info["notices"]]
    return "\n".join(lines) + "\n"


def _status_lines(info: Json) -> Iterator[str]:
    status, counts = info["status"], info["status"]["counts"]
    if not status["indexed"]:
        yield "- not indexed yet"
    else:
        fresh = status["freshness"]
        yield f"- {counts['documents']} documents, {counts['chunks']} chunks, model {info['model']}"
        yield (
            "- up to date"
            if status["up_to_date"]
            else "- behind: {new} new, {changed} changed, {deleted} deleted".format_map(fresh)
        )
    if job := info.get("job"):
        state = "running" if job["running"] else "ended"
        total = f" of {job['total']}" if "total" in job else ""
        said = f": {job['stage']} {job['done']}{total} {job['unit']}" if job["stage"] else ""
        yield f"- indexing {state}{said}"
        if "error" in job:
            yield f"- indexing failed: {job['error']}"
