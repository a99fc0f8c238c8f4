"""What each route of the API does: a function from a record to a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dowse import __version__
from dowse._config.editors import editor_address, obsidian_address
from dowse._config.parameters import Arguments
from dowse._config.request import build_request
from dowse._interfaces.http.observing import AliveRecord, ReadyRecord, readiness
from dowse._interfaces.http.pictures import picture
from dowse._interfaces.http.records import (
    DocumentPageRecord,
    HealthRecord,
    JobRecord,
    PageProjectsRecord,
    PictureRecord,
    ServerStatusRecord,
    SwitchesRecord,
)
from dowse._interfaces.http.watching import Watchers
from dowse._interfaces.records import (
    ExplanationRecord,
    GraphRecord,
    ProjectRecord,
    RelatedRecord,
    ResponseRecord,
    StatusRecord,
)
from dowse._interfaces.served import folder_of, is_own
from dowse._model import Response, Trace
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse._search.present.budget import within_texts
from dowse._search.request import SearchRequest
from dowse.errors import DowseError

_UNTRACED = Trace((), ())


class Shared(Struct, frozen=True):
    """What all requests share."""

    service: EnginePool
    watchers: Watchers
    here: Path | None = None  # the folder of a process of this user that asks; None: others ask

    def seen_by(self, request: Request) -> Shared:
        """Return what a request sees: all projects, from its own folder, if this user sends it."""
        if not is_own(request.scope):
            return self
        here = folder_of(request.headers)
        return Shared(self.service.seen_from(here), self.watchers, here)

    @contextmanager
    def engine(self, asked: Arguments) -> Iterator[Engine]:
        """The engine of the project that a request means; its index is opened once."""
        engine = self._open(self.service.select(asked.get("project")))
        with engine.hold():
            yield engine

    @contextmanager
    def searched(self, asked: Arguments) -> Iterator[Engine | AllProjects]:
        """What a request searches: the engine of a project, or all projects."""
        project = self.service.find(asked.get("project"))
        if project is None:
            yield AllProjects(self.service.workspace.projects, self._open)
            return
        engine = self._open(project)
        with engine.hold():
            yield engine

    def _open(self, project: Project) -> Engine:
        """Open a project; a process of this user says itself what lacks the user's consent."""
        engine = self.service.open(project)
        if self.here is not None and self.service.settings_of(engine).withheld:
            raise HTTPException(412, "A dowse.toml asks for more than you have agreed to")
        return engine


def handle_search(shared: Shared, asked: Arguments) -> ResponseRecord:
    """The results of a search."""
    return _found(shared, asked, lambda engine, request: engine.search(request))


def handle_answer(shared: Shared, asked: Arguments) -> ResponseRecord:
    """The results, with an answer."""

    def answer(engine: Engine | AllProjects, request: SearchRequest) -> Response:
        if shared.here is not None and engine.writes_answers:
            raise HTTPException(412, "The process that asks a language model waits for it")
        return engine.answer(request)

    return _found(shared, asked, answer)


def _found(
    shared: Shared,
    asked: Arguments,
    call: Callable[[Engine | AllProjects, SearchRequest], Response],
) -> ResponseRecord:
    request = build_request(asked, local=shared.here is not None)
    with shared.searched(asked) as engine:
        found = call(engine, request)
        shared.service.metrics.searched(engine.project.name, found.seconds)
        found = within_texts(found, request.max_tokens)
        return ResponseRecord.of(found if asked["explain"] else _untraced(found), engine)


def _untraced(found: Response) -> Response:
    hits = tuple(replace(hit, trace=_UNTRACED) for hit in found.hits)
    nearest = tuple(replace(hit, trace=_UNTRACED) for hit in found.nearest)
    return replace(found, hits=hits, nearest=nearest)


def handle_explain(shared: Shared, asked: Arguments) -> ExplanationRecord:
    """Why a document has its rank."""
    request = build_request(asked, local=shared.here is not None)
    with shared.engine(asked) as engine:
        explanation = engine.explain(request, asked["reference"], here=shared.here)
        return ExplanationRecord.of(explanation, engine)


def handle_related(shared: Shared, asked: Arguments) -> RelatedRecord:
    """What belongs to a document."""
    with shared.engine(asked) as engine:
        related = engine.related(asked["reference"], asked["n"], here=shared.here)
        return RelatedRecord.of(related, engine)


def handle_document(shared: Shared, asked: Arguments) -> DocumentPageRecord:
    """A document, or a part of it."""
    with shared.engine(asked) as engine:
        meant = engine.get(asked["reference"], here=shared.here)
        shown = engine.get(meant.document) if asked["whole"] else meant
        path = engine.path_of(meant.document)
        return DocumentPageRecord(
            project=engine.project.name,
            document=meant.document,
            path=str(path),
            title=meant.title,
            first_line=meant.first_line,
            last_line=meant.last_line,
            total_lines=meant.total_lines,
            text=shown.text,
            html=_rendered(engine, shown.document, shown.text, shown.first_line)
            if asked["format"] == "html"
            else None,
            editor=editor_address(path, engine.settings.open.editor),
            obsidian=obsidian_address(path),
        )


def handle_picture(shared: Shared, asked: Arguments) -> PictureRecord:
    """A picture that a document shows."""
    with shared.engine(asked) as engine:
        return picture(engine, asked["reference"], asked["name"])


def _rendered(engine: Engine, document: str, text: str, first_line: int) -> str:
    from dowse._interfaces.http.render import render, targets_of  # noqa: PLC0415  most requests need none

    targets = targets_of(engine.links(document), document)
    return render(text, engine.project.name, targets, first_line)


def handle_listing(
    make: Callable[[Engine, Arguments], object],
) -> Callable[[Shared, Arguments], object]:
    """The handler of a list, which is made from the engine and what is asked."""

    def run(shared: Shared, asked: Arguments) -> object:
        with shared.engine(asked) as engine:
            return make(engine, asked)

    return run


def handle_graph(shared: Shared, asked: Arguments) -> GraphRecord:
    """All documents and links."""
    with shared.engine(asked) as engine:
        return GraphRecord.of(engine.graph(), engine.project.name)


def handle_projects(shared: Shared, _: Arguments) -> PageProjectsRecord:
    """All projects."""
    projects = tuple(
        ProjectRecord.of(one, shared.service.workspace) for one in shared.service.projects()
    )
    try:
        current: str | None = shared.service.select().name
    except DowseError:
        current = None
    return PageProjectsRecord(projects, current)


def handle_status(shared: Shared, asked: Arguments) -> ServerStatusRecord:
    """What the index holds."""
    with shared.engine(asked) as engine:
        name = engine.project.name
        job = shared.service.job(name)
        return ServerStatusRecord.around(
            StatusRecord.of(engine.status()),
            JobRecord.of(job, engine.project) if job else None,
            shared.watchers.state(name),
        )


def handle_index(shared: Shared, asked: Arguments) -> JobRecord:
    """Begins an indexing run."""
    project = shared.service.select(asked.get("project"))
    return JobRecord.of(shared.service.index(project), project)


def handle_settings(shared: Shared, asked: Arguments) -> SwitchesRecord:
    """The settings of a search."""
    engine = shared.service.open(shared.service.select(asked.get("project")))
    return SwitchesRecord.of(engine, shared.service.settings_of(engine))


def handle_alive(_: Shared, __: Arguments) -> AliveRecord:
    """That the server runs."""
    return AliveRecord("ok")


def handle_ready(shared: Shared, _: Arguments) -> ReadyRecord:
    """Whether every project can be searched."""
    return readiness(shared.service)


def handle_health(_: Shared, __: Arguments) -> HealthRecord:
    """That the server runs, and its version."""
    return HealthRecord("ok", __version__)
