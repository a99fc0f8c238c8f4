"""All projects, searched as one: the best of each, by scores that mean the same in all of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dowse.engine import Engine
from dowse.errors import DowseError, IndexUnusable, NotFound
from dowse.projects.registry import ALL, Project
from dowse.request import NO_FILTERS, NOTHING
from dowse.retrieve import Filters
from dowse.search_state import MOST_RESULTS
from dowse.types import Finding, Hit, Response

_TOP_N = "search.top_n"


@dataclass(frozen=True, slots=True)
class _Named:
    """What stands for the project where all of them are meant."""

    name: str = ALL


class _Held(threading.local):
    """The indexes that a thread keeps open, and the projects that they are of."""

    stack: ExitStack | None = None
    projects: frozenset[str] = frozenset()


class AllProjects:
    """Searches every project; one that cannot be searched is named and does not stop the others.

    `open_project` gives the engine of a project; who gives it closes it.
    """

    project = _Named()

    def __init__(
        self,
        projects: Sequence[Project],
        open_project: Callable[[Project], Engine],
        broken: Sequence[Finding] = (),
    ) -> None:
        self._projects = projects
        self._open = open_project
        self._broken = broken  # projects that cannot even be opened
        self._engines: dict[str, Engine] = {}
        self._held = _Held()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """All that this thread reads of a project inside comes from one opening of its index."""
        with ExitStack() as stack:
            self._held.stack = stack
            try:
                yield
            finally:
                self._held.stack, self._held.projects = None, frozenset()

    def of(self, project: str) -> Engine:
        """The engine of the project that a hit is from."""
        engine, held = self._opened(project), self._held
        if held.stack is not None and project not in held.projects:
            held.stack.enter_context(engine.hold())
            held.projects |= {project}
        return engine

    def _opened(self, project: str) -> Engine:
        if project not in self._engines:
            wanted = next((one for one in self._projects if one.name == project), None)
            if wanted is None:
                raise NotFound(f"There is no project {project!r}.", "See: dowse project list")
            self._engines[project] = self._open(wanted)
        return self._engines[project]

    def search(
        self,
        query: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
        offset: int = 0,
    ) -> Response:
        """The best of all projects, after the first `offset` of them."""
        if not self._projects:
            raise NotFound("There is no project yet.", "Make one with: dowse index PATH")
        found: dict[str, Response] = {}
        failed = [f"{one.what} {one.repair}" for one in self._broken]
        for project in self._projects:
            try:
                found[project.name] = self._search(project, query, filters, changes, offset)
            except (DowseError, OSError) as error:
                failed.append(f"{project.name} was not searched: {error}")
        if not found:
            raise IndexUnusable("No project can be searched.", " ".join(failed))
        whole = _merged(query, found, failed, self._limit(changes) + offset)
        return replace(whole, hits=whole.hits[offset:], offset=offset)

    def _search(
        self,
        project: Project,
        query: str,
        filters: Filters,
        changes: Mapping[str, Any],
        offset: int,
    ) -> Response:
        """The best of one project; those that are passed over may all be of it, or of others."""
        engine = self.of(project.name)
        if offset:
            wanted = int(changes.get(_TOP_N, engine.settings.search.top_n)) + offset
            changes = {**changes, _TOP_N: min(wanted, MOST_RESULTS)}
        with engine.hold():
            return engine.search(query, filters=filters, changes=changes)

    def _limit(self, changes: Mapping[str, Any]) -> int:
        """How many results there are: as many as asked for, or as any project would give."""
        if _TOP_N in changes:
            return int(changes[_TOP_N])
        return max(int(engine.settings.search.top_n) for engine in self._engines.values())


def _merged(
    query: str, found: Mapping[str, Response], failed: Sequence[str], limit: int
) -> Response:
    hits = _best([(name, hit) for name, one in found.items() for hit in one.hits], limit)
    near = [(name, hit) for name, one in found.items() for hit in one.nearest]
    calibrations = {one.calibration for one in found.values()}
    return Response(
        query,
        hits,
        _sums([one.counts for one in found.values()]) | {"top_n": len(hits)},
        sum(one.merged for one in found.values()),
        _sums([one.seconds for one in found.values()]),
        (*_notices(found), *failed),
        calibrations.pop() if len(calibrations) == 1 else "",
        nearest=() if hits else _best(near, limit),
        removed={} if hits else _sums([one.removed for one in found.values()]),
        no_good_match=all(one.no_good_match for one in found.values() if one.hits) and bool(hits),
        total=sum(one.total for one in found.values()),
    )


def _best(hits: Sequence[tuple[str, Hit]], limit: int) -> tuple[Hit, ...]:
    """The best hits; those of one project stay in their order, and ties are broken by name."""
    named = [replace(hit, project=name) for name, hit in hits]
    return tuple(sorted(named, key=lambda hit: (-hit.score, hit.project))[:limit])


def _sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _notices(found: Mapping[str, Response]) -> Iterator[str]:
    """What the projects say: once where all say the same, otherwise with the name of each."""
    everywhere = [
        notice
        for notice in next(iter(found.values())).notices
        if all(notice in one.notices for one in found.values())
    ]
    yield from everywhere
    for name, one in found.items():
        yield from (f"{name}: {notice}" for notice in one.notices if notice not in everywhere)
