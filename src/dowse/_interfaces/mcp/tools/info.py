"""`project_info`: which projects there are, how fresh one is, and what it cannot do, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dowse._config.parameters import Arguments
from dowse._interfaces.mcp.invisible import visible_line
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.replies import Reply, pick
from dowse._interfaces.mcp.tools.outputs import PROJECT, Json
from dowse._interfaces.records import ProjectRecord, StatusRecord
from dowse._project.doctor import missing_abilities
from dowse._project.engine import Engine
from dowse._project.pool import Job
from dowse._project.registry import Project
from dowse.errors import DowseError

_STATUS = ("indexed", "up_to_date", "freshness", "counts")


class JobProgressRecord(Struct, frozen=True):
    """An indexing run in the background."""

    running: bool
    stage: str  # what it is at; "" before it has said anything
    done: int
    total: int | None  # null while nobody knows
    unit: str  # what `done` counts
    error: str | None  # why it failed

    @classmethod
    def of(cls, job: Job) -> JobProgressRecord:
        """The shape of a run."""
        event = job.event
        return cls(
            running=not job.ended.is_set(),
            stage=event.stage if event else "",
            done=event.done if event else 0,
            total=event.total if event else None,
            unit=event.unit if event else "files",
            error=str(job.error) if job.error else None,
        )


def project_info(projects: VisibleProjects, arguments: Arguments) -> Reply:
    """Everything there is to know about the projects, and about one of them."""
    info: dict[str, Any] = {
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
        return Reply(info, _told(info))
    info |= _about(projects, project)
    return Reply(info, _told(info))


def _project(projects: VisibleProjects, project: Project) -> Json:
    told = pick(ProjectRecord.of(project, projects.service.workspace), PROJECT)
    return told | {"description": visible_line(told["description"])}


def _about(projects: VisibleProjects, project: Project) -> dict[str, Any]:
    engine = projects.service.open(project)
    with engine.hold():
        return _state(projects, engine)


def _state(projects: VisibleProjects, engine: Engine) -> dict[str, Any]:
    project = engine.project
    shape = StatusRecord.of(engine.status())
    away = [str(root) for root in project.roots if not root.exists()]
    notices = [*shape.notices, *(f"{root} is not here; what was indexed stays." for root in away)]
    job = projects.service.job(project.name)
    running = job is not None and not job.ended.is_set()
    if not running and not notices and not shape.up_to_date:
        notices += filter(None, [projects.failure(project.name)])  # before it is tried once more
        job = projects.service.index(project)
        notices.append("The folder has changed; the index is being updated in the background.")
    told = (
        {"job": pick(JobProgressRecord.of(job), JobProgressRecord.__struct_fields__)}
        if job is not None
        else {}
    )
    return {
        "project": project.name,
        "model": str((shape.stamp or {}).get("model", "none")),
        "status": pick(shape, _STATUS),
        **told,
        "missing": list(missing_abilities(engine)) if shape.indexed else [],
        "notices": notices,
    }


def _told(info: Json) -> str:
    lines = [_project_line(one) for one in info["projects"]]
    if "status" in info:
        lines += ["", f"# {info['project']}", "", *_status_lines(info)]
    lines += [f"- missing: {one}" for one in info["missing"]]
    lines += [f"- {one}" for one in info["notices"]]
    return "\n".join(lines) + "\n"


def _project_line(told: Json) -> str:
    said = f" ({told['description']})" if told["description"] else ""
    return f"- project {told['name']}: {', '.join(told['roots'])}{said}"


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
