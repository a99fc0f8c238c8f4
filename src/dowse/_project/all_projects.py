"""All projects, searched as one: the best of each, by scores that mean the same in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from dowse._model import Counts, DocumentEntry, Freshness, Hit, Response, Sentence
from dowse._project.engine import Engine, Status
from dowse._project.registry import ALL, Project, Projects
from dowse._search.answer import answer_of
from dowse._search.hits import missing_from
from dowse._search.listing import ListedDocument, Sort, in_order
from dowse._search.request import SearchRequest
from dowse._search.state import MOST_RESULTS
from dowse.errors import DowseError, IndexUnusable, NotFound, UsageError

_T = TypeVar("_T")

_TOP_N = "search.top_n"
_WORTH = 0.5  # share of the best score below which a result would only dilute the answer


class _Named(Struct, frozen=True):
    """A stand-in for the project where all of them are meant."""

    name: str = ALL


class AllProjects:
    """Every project as one engine; one that cannot be searched is named and stops no other.

    `open_project` gives the engine of a project; who gives it closes it.
    """

    project = _Named()

    def __init__(
        self,
        projects: Projects,
        open_project: Callable[[Project], Engine],
    ) -> None:
        known, self._broken = projects.read()
        self._folder = projects.folder
        self._projects = {one.name: one for one in known}
        self._open = open_project
        self._engines: dict[str, Engine] = {}

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Open the index of each project once for everything that this thread reads inside."""
        with ExitStack() as stack:
            for name in self._projects:
                with suppress(DowseError, OSError):  # the search says why it cannot be opened
                    stack.enter_context(self.of(name).hold())
            yield

    def of(self, project: str) -> Engine:
        """Return the engine of the project that a hit is from."""
        if project not in self._engines:
            if project not in self._projects:
                raise NotFound(f"There is no project {project!r}.", "See: dowse project list")
            self._engines[project] = self._open(self._projects[project])
        return self._engines[project]

    def search(self, request: SearchRequest) -> Response:
        """Find the best of all projects."""

        def ask(engine: Engine) -> Response:
            if not request.offset:
                return engine.search(request)
            # The results that are skipped may all be of this project, or of others.
            top_n = int(request.changes.get(_TOP_N, engine.settings.search.top_n)) + request.offset
            changes = {**request.changes, _TOP_N: min(top_n, MOST_RESULTS)}
            return engine.search(replace(request, changes=changes, offset=0))

        found, failed = self._each(ask)
        whole = _merged(request.query, found, failed, self._limit(request) + request.offset)
        return replace(whole, hits=whole.hits[request.offset :], offset=request.offset)

    def answer(self, request: SearchRequest) -> Response:
        """Find the best of all projects, and say what they say to the question.

        The sentences are those that each project would answer with, the best results first. Where
        a project has a language model that writes answers, it writes this one from all results.
        """
        found, failed = self._each(lambda engine: engine.answer(request, written=False))
        whole = _merged(request.query, found, failed, self._limit(request))
        writing = next((one for one in self._engines.values() if one.writes_answers), None)
        if writing is not None:
            whole = writing.write_answer(whole, request)
        if whole.answer is not None:
            return whole
        most = max(int(one.settings.answer.sentences) for one in self._engines.values())
        most = int(request.changes.get("answer.sentences", most))
        return replace(whole, answer=answer_of(_sentences(found, whole.hits)[:most]))

    @property
    def writes_answers(self) -> bool:
        """Tell whether a language model writes the answers of one of the projects."""
        return self._any(lambda engine: engine.writes_answers)

    @property
    def names(self) -> list[str]:
        """List the names of the projects."""
        return list(self._projects)

    @property
    def is_indexed(self) -> bool:
        """Tell whether at least one of the projects has an index."""
        return self._any(lambda engine: engine.built_with() is not None)

    def _any(self, holds: Callable[[Engine], bool]) -> bool:
        for name in self._projects:
            with suppress(DowseError, OSError):  # the search says why it cannot be opened
                if holds(self.of(name)):
                    return True
        return False

    def having(self, reference: str, here: Path | None = None) -> Engine:
        """Return the engine of the one project that has what a reference means."""
        having: list[Engine] = []
        failures: list[UsageError] = []
        for name in self._projects:
            try:
                engine = self.of(name)
                if engine.built_with() is not None:
                    engine.get(reference, here=here)
                    having.append(engine)
            except UsageError as error:
                failures.append(error)
            except (DowseError, OSError):  # one that cannot be read stops no other project
                continue
        if len(having) > 1:
            names = ", ".join(one.project.name for one in having)
            raise UsageError(
                f"{reference!r} is in several projects.", f"Name the project, one of: {names}."
            )
        if not having:
            raise failures[0] if failures else IndexUnusable("No project can be read.")
        return having[0]

    def documents(self) -> list[DocumentEntry]:
        """List the documents of all projects."""
        return [one.entry for one in self.listed()]

    def listed(
        self, sort: Sort = "path", since: str = "", path: Sequence[str] = ()
    ) -> list[ListedDocument]:
        """List the documents of all projects in an order."""
        found, _ = self._each(lambda engine: engine.listed(sort, since, path))
        return in_order(chain.from_iterable(found.values()), sort)

    def status(self) -> Status:
        """Sum up the indexes of all projects; the notices name those that need attention."""
        found, failed = self._each(Engine.status)
        every = list(found.values())
        notices = [*failed, *(f"{one.project}: {said}" for one in every for said in one.notices)]
        behind = [one for one in every if not (one.indexed and one.up_to_date)]
        notices += [
            f"{one.project} is not up to date: dowse index -p {quote(one.project)}"
            for one in behind
        ]
        return Status(
            project=ALL,
            roots=tuple(chain.from_iterable(one.roots for one in every)),
            folder=str(self._folder),
            bytes=sum(one.bytes for one in every),
            indexed=all(one.indexed for one in every),
            up_to_date=not behind,
            freshness=Freshness(**_sums([asdict(one.freshness) for one in every])),
            counts=Counts(**_sums([asdict(one.counts) for one in every])),
            stamp=None,
            notices=tuple(notices),
            run=" ".join(one.run for one in every if one.run),
            unread=sum(one.unread for one in every),
            imported=tuple(chain.from_iterable(one.imported for one in every)),
        )

    def _each(self, ask: Callable[[Engine], _T]) -> tuple[dict[str, _T], list[str]]:
        """Ask each project, and say why some give nothing."""
        if not self._projects:
            raise NotFound("There is no project yet.", "Make one with: dowse index PATH")
        found: dict[str, _T] = {}
        failed = [f"{one.what} {one.repair}" for one in self._broken]
        for name in self._projects:
            try:
                engine = self.of(name)
                with engine.hold():
                    found[name] = ask(engine)
            except (DowseError, OSError) as error:
                failed.append(f"{name} was not searched: {error}")
        if not found:
            raise IndexUnusable("No project can be searched.", " ".join(failed))
        return found, failed

    def _limit(self, request: SearchRequest) -> int:
        """Return how many results there are: as many as asked for, or as any project would give."""
        usual = max(int(engine.settings.search.top_n) for engine in self._engines.values())
        return int(request.changes.get(_TOP_N, usual))


def _merged(
    query: str, found: Mapping[str, Response], failed: Sequence[str], limit: int
) -> Response:
    hits = _best([hit for one in found.values() for hit in one.hits], limit)
    near = [hit for one in found.values() for hit in one.nearest]
    good = any(one.hits and not one.no_good_match for one in found.values())
    calibrations = {one.calibration for one in found.values()}
    # A notice is said once, with the names of its projects where others do not have it.
    told: dict[str, list[str]] = {}
    for name, response in found.items():
        missing = tuple(one.rstrip(".") for one in missing_from(response.hits))
        for one in response.notices:
            if not one.startswith(missing):  # what other projects may have
                told.setdefault(one, []).append(name)
    notices = [
        one if len(names) == len(found) else f"{', '.join(names)}: {one}"
        for one, names in told.items()
    ]
    notices += missing_from(hits)
    return Response(
        project=ALL,
        query=query,
        no_good_match=bool(hits) and not good,
        hits=hits,
        total=sum(one.total for one in found.values()),
        total_is_exact=all(one.total_is_exact for one in found.values()),
        nearest=() if hits else _best(near, limit),
        removed={} if good else _sums([one.removed for one in found.values()]),
        merged=sum(one.merged for one in found.values()),
        counts=_sums([one.counts for one in found.values()]) | {"top_n": len(hits)},
        seconds=_sums([one.seconds for one in found.values()]),
        calibration=calibrations.pop() if len(calibrations) == 1 else "",
        notices=(*notices, *failed),
    )


def _sentences(found: Mapping[str, Response], hits: Sequence[Hit]) -> list[Sentence]:
    """Order the sentences of the projects' answers by the rank of the result each is from."""
    ranks = {(hit.project, hit.id): rank for rank, hit in enumerate(hits, start=1)}
    scores = [hit.score for hit in hits]
    return sorted(
        (
            Sentence(sentence.text, rank)
            for name, one in found.items()
            for sentence in (one.answer.sentences if one.answer else ())
            if (rank := ranks.get((name, one.hits[sentence.hit - 1].id)))
            and scores[rank - 1] >= _WORTH * scores[0]
        ),
        key=lambda one: one.hit,
    )


def _best(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the best hits; those of a project stay in order, and names break ties."""
    best = sorted(hits, key=lambda hit: (-hit.score, hit.project))[:limit]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(best, 1))


def _sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)
