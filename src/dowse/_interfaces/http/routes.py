"""What the JSON API answers: every route is a function from a call to a record.

A new route is a function here. Of its parameters, its docstring and the record that it returns,
`make docs` also makes its OpenAPI description and its section on the page at `/api`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from dowse import __version__
from dowse._config.editors import editor_address, obsidian_address
from dowse._config.parameters import Arguments, Parameter
from dowse._config.presets import PRESETS
from dowse._config.request import build_request, filters_of, option, options_of
from dowse._config.schema import known_settings, preset_values, settable
from dowse._index.source.load import read_picture
from dowse._interfaces.http.render import render
from dowse._interfaces.records import (
    CountedListRecord,
    DocumentListRecord,
    FieldListRecord,
    GraphRecord,
    ProjectPassage,
    ProjectRecord,
    SettingRecord,
    counted_list,
    document_list,
    field_list,
    filled,
    related_with_paths,
    with_path,
    with_paths,
)
from dowse._model import Event, Explanation, IndexReport, Related, Response
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine, Status
from dowse._project.pool import EnginePool, Job
from dowse._project.registry import Project
from dowse._project.workspace import ResolvedSettings
from dowse._search.formats import change_hits, within_texts
from dowse._search.listing import FILTERS, SORTS, Filter
from dowse._search.pipeline import SEARCH_FLOW
from dowse._search.request import SearchRequest
from dowse._search.strategies import MODES, NAMES, STRATEGIES
from dowse._util.messages import without_commands
from dowse.errors import DowseError, NotFound

if TYPE_CHECKING:
    from dowse._interfaces.http.server import Watcher, Watchers

ROOT = "/api/v1"
"""Where the API begins."""


class ApiCall(Struct, frozen=True):
    """One call of the API: what it asks, and what the server answers it with."""

    pool: EnginePool
    watchers: Watchers
    arguments: Arguments
    here: Path | None = None  # the folder of a process of this user that asks; None: others ask

    def seen_from(self, here: Path) -> ApiCall:
        """Return the call as a process of this user means it: all projects, from its folder."""
        return replace(self, pool=self.pool.seen_from(here), here=here)

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def project(self) -> str | None:
        """The name of the project that is asked for; None where none is named."""
        return self.arguments.get("project")

    @property
    def paths(self) -> Sequence[str]:
        """The paths below which documents are asked for."""
        return tuple(self.arguments.get("path", ()))

    @property
    def part(self) -> tuple[int, int]:
        """Which part of a list is asked for: at most how many, and after how many."""
        return self["limit"], self["offset"]

    def engine(self) -> Engine:
        """Open the one project that is meant."""
        return self._open(self.pool.select(self.project))

    @contextmanager
    def searched(self) -> Iterator[Engine | AllProjects]:
        """Open what a search means, a project or all of them, with each index opened once."""
        project, known = self.pool.find(self.project), self.pool.workspace.projects
        opened = self._open(project) if project else AllProjects(known, self._open)
        with opened.hold():
            yield opened

    @contextmanager
    def with_document(self) -> Iterator[Engine]:
        """Open the project that has the document which is asked for."""
        with self.searched() as searched:
            yield searched.having(self["reference"], self.here)

    def _open(self, project: Project) -> Engine:
        """Open a project; a process of this user says itself what lacks the user's consent."""
        engine = self.pool.open(project)
        if self.here is not None and self.pool.settings_of(engine).withheld:
            raise HTTPException(412, "A dowse.toml asks for more than you have agreed to")
        return engine

    @property
    def request(self) -> SearchRequest:
        """The search that is asked for; only a process of this user may name a folder in it."""
        return build_request(self.arguments, local=self.here is not None)


class Route(Struct, frozen=True):
    """One thing that can be asked."""

    method: Literal["GET", "POST"]
    path: str  # below `root`
    takes: tuple[Parameter, ...]
    gives: type
    summary: str
    run: Callable[[ApiCall], object]
    body: bool = False  # the parameters come as JSON, not in the address
    status: int = 200  # when all went well
    root: str = ROOT
    instant: bool = False  # it is answered also while all threads are at work
    kept: bool = False  # it needs what the main process alone has: watchers, runs of indexing
    unready: int = 0  # the status of a record that is not `ready`; 0: there is none

    @property
    def address(self) -> str:
        """The whole path."""
        return self.root + self.path


ROUTES: list[Route] = []
"""Everything that can be asked."""

_Run = TypeVar("_Run", bound=Callable[[ApiCall], object])


def _route(
    method: Literal["GET", "POST"],
    path: str,
    *takes: Parameter,
    summary: str = "",
    **options: Any,
) -> Callable[[_Run], _Run]:
    """Add a function to the routes; without a `summary`, its docstring is that."""

    def add(run: _Run) -> _Run:
        gives, said = get_type_hints(run)["return"], summary or run.__doc__ or ""
        ROUTES.append(Route(method, path, takes, gives, said, run, **options))
        return run

    return add


# ── Records ──────────────────────────────────────────────────────────────────


class ErrorRecord(Struct, frozen=True):
    """What went wrong."""

    error: Annotated[str, "What happened."]
    hint: Annotated[str, "What to do next; empty where nothing can be done."]

    @classmethod
    def of(cls, error: DowseError | None) -> ErrorRecord | None:
        """Make the record of an error, if there is one."""
        return cls(error.message, without_commands(error.hint)) if error else None


class AliveRecord(Struct, frozen=True):
    """That the process answers."""

    status: Annotated[Literal["ok"], "Always `ok`."]


class HealthRecord(AliveRecord, frozen=True):
    """That the server is there."""

    version: Annotated[str, "Of dowse."]


class JobRecord(Struct, frozen=True):
    """An indexing run in the background."""

    project: Annotated[str, "Name of the project."]
    state: Annotated[Literal["running", "done", "failed"], "How far it is."]
    event: Annotated[Event | None, "The last thing it said."]
    report: Annotated[IndexReport | None, "What it did, once it has ended well."]
    error: Annotated[ErrorRecord | None, "Why it failed."]

    @classmethod
    def of(cls, job: Job) -> JobRecord:
        """Make the record of a job."""
        outcome: Literal["failed", "done"] = "failed" if job.report is None else "done"
        state = outcome if job.ended.is_set() else "running"
        return cls(job.project, state, job.event, job.report, ErrorRecord.of(job.error))


class WatchRecord(Struct, frozen=True):
    """How the index is updated while the folder changes."""

    watching: Annotated[bool, "Whether changes are followed as they happen."]
    event: Annotated[Event | None, "The last thing that was said of it."]
    error: Annotated[ErrorRecord | None, "Why they cannot be followed; it is tried again."]

    @classmethod
    def of(cls, watcher: Watcher | None) -> WatchRecord:
        """Make the record of a watcher, if there is one."""
        if watcher is None:
            return cls(watching=False, event=None, error=None)
        return cls(watcher.thread.is_alive(), watcher.event, ErrorRecord.of(watcher.error))


class ServerStatusRecord(Status, frozen=True):
    """What there is to know about a project, and what the server does for it."""

    job: Annotated[JobRecord | None, "The last indexing run that was asked for."]
    watch: Annotated[WatchRecord, "The watcher."]


class PageProjectsRecord(Struct, frozen=True):
    """All projects, and the one that is meant when a request names none."""

    projects: Annotated[tuple[ProjectRecord, ...], "By name."]
    current: Annotated[str | None, "The project of requests that name none; null: they must."]


class DocumentPageRecord(ProjectPassage, frozen=True, kw_only=True):
    """A document, or a part of it; with `whole`, `text` is all of the document."""

    html: Annotated[
        str | None,
        "The same, rendered and sanitised; blocks carry `data-first-line` and `data-last-line`.",
    ]
    editor: Annotated[
        str, "Address that opens the file in the user's editor, with `{line}`; empty: it has none."
    ]
    obsidian: Annotated[str, "Address that opens the file in Obsidian; empty: it is in no vault."]


class PictureRecord(Struct, frozen=True):
    """A picture that a document shows."""

    project: Annotated[str, "Name of the project."]
    document: Annotated[str, "Id of the document."]
    name: Annotated[str, "As the document writes its path."]
    type: Annotated[str, "Its media type, such as `image/png`."]
    data: Annotated[bytes, "The file, in base64."]


_Switch = Literal["boolean", "integer", "number", "string", "choice"]


class SwitchRecord(SettingRecord, frozen=True, kw_only=True):
    """A setting that one search may change: `set` takes it."""

    section: Annotated[str, "The stage that it belongs to."]
    type: Annotated[_Switch, "How it can be shown."]
    choices: Annotated[tuple[str, ...], "Of a `choice`: all there are."]


class ModeRecord(Struct, frozen=True):
    """A mode of search."""

    name: Annotated[str, "As `mode` takes it."]
    label: Annotated[str, "How the page calls it."]
    meaning: Annotated[str, "What it does."]


class FilterRecord(Struct, frozen=True):
    """A filter of a search."""

    name: Annotated[str, "As a search takes it."]
    meaning: Annotated[str, "What it demands of a result."]
    repeated: Annotated[bool, "Whether it can be given several times."]
    example: Annotated[str, "A value that it could have."]


class SwitchesRecord(Struct, frozen=True):
    """The settings of a search, in the order of its stages."""

    project: Annotated[str, "The project that the values hold for."]
    settings: Annotated[tuple[SwitchRecord, ...], "All that `set` takes."]
    presets: Annotated[Mapping[str, Mapping[str, Any]], "The settings of each preset."]
    modes: Annotated[tuple[ModeRecord, ...], "The modes of search; the first is the default."]
    filters: Annotated[tuple[FilterRecord, ...], "The filters of a search."]
    strategies: Annotated[tuple[str, ...], "The names of all strategies, in their order."]
    stage_words: Annotated[Mapping[str, str], "What each stage does, in plain words."]
    strategy_words: Annotated[Mapping[str, str], "How each strategy ranks, in plain words."]

    @classmethod
    def of(cls, engine: Engine, chosen: ResolvedSettings) -> SwitchesRecord:
        """Make the record of the settings that hold."""
        known = known_settings()
        switches = []
        for setting in (known[name] for name in settable("search")):
            is_choice = get_origin(setting.type) is Literal
            kind: Any = "choice" if is_choice else msgspec.json.schema(setting.type).get("type")
            switches.append(
                filled(
                    SwitchRecord,
                    setting,
                    section=setting.name.partition(".")[0],
                    # Whatever has no way of its own to be shown is a text.
                    type=kind if kind in get_args(_Switch) else "string",
                    choices=tuple(str(one) for one in get_args(setting.type) if one and is_choice),
                    value=chosen.settings.value(setting.name),
                    origin=chosen.origins.get(setting.name, "default"),
                )
            )
        return cls(
            engine.project.name,
            tuple(switches),
            {name: preset_values(name) for name in PRESETS},
            tuple(filled(ModeRecord, mode) for mode in MODES),
            tuple(filled(FilterRecord, one, repeated=one.is_list) for one in filters_of("search")),
            (*(one.name for one in STRATEGIES), *(one.name for one in NAMES)),
            {one.name: one.words for one in SEARCH_FLOW},
            {one.name: one.meaning for one in STRATEGIES}
            | {one.name: one.meaning for one in NAMES},
        )


class ProjectReadyRecord(Struct, frozen=True):
    """Whether the index of a project can be searched."""

    project: Annotated[str, "Name of the project."]
    ready: Annotated[bool, "Whether its index opens."]
    generation: Annotated[int | None, "The generation that searches see; null: none."]
    indexing: Annotated[bool, "Whether this server is indexing it now."]
    reason: Annotated[str, "Why it is not ready, and what to do; empty when it is."]


class ReadyRecord(Struct, frozen=True):
    """Whether every project can be searched."""

    ready: Annotated[bool, "Whether all of them are."]
    projects: Annotated[tuple[ProjectReadyRecord, ...], "By name."]


# ── Parameters ───────────────────────────────────────────────────────────────

_PROJECT = Parameter(
    "project",
    "The project; without it, the one that the server was started in. A search without it searches"
    " all projects where none is meant, and with `all` in any case.",
)
_REFERENCE = Parameter(
    "reference",
    "A document, or a part of it: `path`, `path:first-last`, or an id.",
    required=True,
)
_EXPLAIN = Parameter(
    "explain",
    "Say how each result came to its place: `places` and `steps`.",
    "boolean",
    default=True,
)
_PART = (
    Parameter("limit", "At most this many.", "integer", low=1, high=10_000, default=100),
    Parameter(
        "offset",
        "Skip this many.",
        "integer",
        low=0,
        high=10_000_000,
        default=0,
    ),
)
_COUNTED = (_PROJECT, option("path"), *_PART)
_OF_A_SEARCH = (_PROJECT, _EXPLAIN, *options_of("search"))


# ── Searching ────────────────────────────────────────────────────────────────


@_route("POST", "/search", *_OF_A_SEARCH, body=True, summary="Search, with the parameters as JSON.")
@_route("GET", "/search", *_OF_A_SEARCH)
def search(call: ApiCall) -> Response:
    """Search."""
    request = call.request
    with call.searched() as engine:
        return _found(call, engine, engine.search(request), request.max_tokens)


@_route("GET", "/answer", _PROJECT, _EXPLAIN, *options_of("answer"))
def answer(call: ApiCall) -> Response:
    """Answer a question."""
    request = call.request
    with call.searched() as engine:
        if call.here is not None and engine.writes_answers:
            raise HTTPException(412, "The process that asks a language model waits for it")
        return _found(call, engine, engine.answer(request), request.max_tokens)


def _found(
    call: ApiCall, engine: Engine | AllProjects, found: Response, max_tokens: int | None
) -> Response:
    call.pool.metrics.searched(engine.project.name, found.seconds)
    found = within_texts(found, max_tokens)
    if not call["explain"]:
        found = change_hits(found, lambda hit: replace(hit, places=(), steps=()))
    return with_paths(found, engine)


@_route("GET", "/explain", _PROJECT, _REFERENCE, *options_of("explain"))
def explain(call: ApiCall) -> Explanation:
    """Say why a document is, or is not, among the results."""
    request = call.request
    with call.with_document() as engine:
        return with_path(engine.explain(request, call["reference"], here=call.here), engine)


# ── Reading ──────────────────────────────────────────────────────────────────


@_route(
    "GET",
    "/related",
    _PROJECT,
    _REFERENCE,
    Parameter(
        "n",
        "At most this many of each kind.",
        "integer",
        low=1,
        high=1_000,
        default=10,
        aliases=("limit",),
    ),
)
def related(call: ApiCall) -> Related:
    """Documents related to a document."""
    with call.with_document() as engine:
        return related_with_paths(
            engine.related(call["reference"], call["n"], here=call.here), engine
        )


@_route(
    "GET",
    "/document",
    _PROJECT,
    _REFERENCE,
    Parameter(
        "format",
        "With `html`, also as HTML that can do no harm.",
        "choice",
        choices=("text", "html"),
        default="text",
    ),
    Parameter(
        "whole",
        "The whole document, also when the reference is a part of it.",
        "boolean",
        default=False,
    ),
)
def document(call: ApiCall) -> DocumentPageRecord:
    """A document, or lines of it."""
    with call.with_document() as engine:
        meant = engine.get(call["reference"], here=call.here)
        shown = engine.get(meant.document) if call["whole"] else meant
        path = engine.path_of(meant.document)
        html = None
        if call["format"] == "html":
            targets = {
                edge.link.target: edge.target
                for edge in engine.links(shown.document)
                if edge.source == shown.document
            }
            html = render(shown.text, engine.project.name, targets, shown.first_line)
        return filled(
            DocumentPageRecord,
            meant,
            project=engine.project.name,
            path=str(path),
            text=shown.text,
            html=html,
            editor=editor_address(path, engine.settings.open.editor),
            obsidian=obsidian_address(path),
        )


@_route(
    "GET",
    "/picture",
    _PROJECT,
    _REFERENCE,
    Parameter("name", "The picture, as the document writes its path.", required=True, longest=1000),
)
def picture(call: ApiCall) -> PictureRecord:
    """A picture that a document shows."""
    name = call["name"]
    with call.with_document() as engine:
        document = engine.get(call["reference"]).document
        text = engine.get(document).text
        # Only what a document mentions can be had, plainly written or as an address.
        if not any(one in text for one in (name, quote(name), name.replace(" ", "%20"))):
            raise NotFound(
                f"{document} does not mention the picture {name!r}.",
                "Write the path as the document does.",
            )
        found = read_picture(engine.project.named_roots, engine.settings.read, document, name)
        return PictureRecord(engine.project.name, document, name, found.type, found.data)


# ── Listing ──────────────────────────────────────────────────────────────────


@_route(
    "GET",
    "/documents",
    _PROJECT,
    Parameter(
        "sort",
        "By path, newest first (`modified`), or first what most documents link to (`links`).",
        "choice",
        choices=SORTS,
        default="path",
    ),
    Parameter("since", "Filter by date: changed since 2024-06-30, 2024, yesterday, 7d.", "date"),
    option("path"),
    *_PART,
)
def documents(call: ApiCall) -> DocumentListRecord:
    """List documents: all of them, the newest, or the most linked."""
    with call.searched() as engine:
        listed = engine.listed(call["sort"], call.arguments.get("since", ""), call.paths)
        return document_list(DocumentListRecord, engine, listed, *call.part)


@_route("GET", "/tags", *_COUNTED)
def tags(call: ApiCall) -> CountedListRecord:
    """List tags; a document with `a/b` counts for `a` too."""
    return _values(call, "tag")


@_route("GET", "/folders", *_COUNTED)
def folders(call: ApiCall) -> CountedListRecord:
    """List folders; a document counts for all folders that it is below."""
    return _values(call, "path")


@_route(
    "GET",
    "/fields",
    *_COUNTED,
    Parameter("name", "Only this field."),
    Parameter(
        "values",
        "At most this many values of each field.",
        "integer",
        low=0,
        high=10_000,
        default=20,
    ),
)
def fields(call: ApiCall) -> FieldListRecord:
    """List the fields of the frontmatter and their values."""
    with call.searched() as engine:
        return field_list(
            engine, call.arguments.get("name"), call.paths, *call.part, values=call["values"]
        )


@_route(
    "GET",
    "/values",
    _PROJECT,
    Parameter("filter", "Which filter.", "choice", choices=FILTERS, required=True),
    option("path"),
    *_PART,
)
def values(call: ApiCall) -> CountedListRecord:
    """List the values of a filter."""
    return _values(call, call["filter"])


def _values(call: ApiCall, name: Filter) -> CountedListRecord:
    with call.searched() as engine:
        return counted_list(engine, name, call.paths, *call.part)


# ── Projects and their state ─────────────────────────────────────────────────


@_route("GET", "/graph", _PROJECT)
def graph(call: ApiCall) -> GraphRecord:
    """All documents and links."""
    engine = call.engine()
    return GraphRecord.of(engine.graph(), engine.project.name)


@_route("GET", "/projects")
def projects(call: ApiCall) -> PageProjectsRecord:
    """All projects."""
    found = tuple(ProjectRecord.of(one, call.pool.workspace) for one in call.pool.projects())
    try:
        current: str | None = call.pool.select().name
    except DowseError:
        current = None
    return PageProjectsRecord(found, current)


@_route("GET", "/status", _PROJECT, kept=True)
def status(call: ApiCall) -> ServerStatusRecord:
    """What the index holds, and whether it is up to date."""
    with call.searched() as engine:
        job = call.pool.job(engine.project.name)
        return filled(
            ServerStatusRecord,
            engine.status(),
            job=JobRecord.of(job) if job else None,
            watch=WatchRecord.of(call.watchers.of(engine.project.name)),
        )


@_route("POST", "/index", _PROJECT, status=202, kept=True)
def index(call: ApiCall) -> JobRecord:
    """Update the index in the background."""
    return JobRecord.of(call.pool.index(call.pool.select(call.project)))


@_route("GET", "/settings", _PROJECT)
def settings(call: ApiCall) -> SwitchesRecord:
    """The settings that one search may change."""
    engine = call.engine()
    return SwitchesRecord.of(engine, call.pool.settings_of(engine))


@_route("GET", "/healthz")
def healthz(_: ApiCall) -> HealthRecord:
    """Whether the server runs."""
    return HealthRecord("ok", __version__)


@_route("GET", "/health", root="", instant=True)
def health(_: ApiCall) -> AliveRecord:
    """Whether the process answers."""
    return AliveRecord("ok")


@_route("GET", "/ready", root="", unready=503, kept=True)
def ready(call: ApiCall) -> ReadyRecord:
    """Whether every project can be searched."""
    return readiness(call.pool)


def readiness(pool: EnginePool) -> ReadyRecord:
    """Open every index, and say which cannot be."""
    found = []
    indexing = {job.project for job in pool.running()}
    for project in pool.projects():
        generation, reason = None, ""
        try:
            with pool.open(project).read() as reading:
                generation = reading.catalogue.generation
        except (DowseError, OSError) as error:
            reason = str(error)
        name, is_ready = project.name, generation is not None
        found.append(ProjectReadyRecord(name, is_ready, generation, name in indexing, reason))
    return ReadyRecord(all(one.ready for one in found), tuple(found))
