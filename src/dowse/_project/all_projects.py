"""All projects, searched as one: the best of each, by scores that mean the same in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import Hit, Response, Sentence
from dowse._project.engine import Engine
from dowse._project.registry import ALL, Project, Projects
from dowse._search.answer import answer_of
from dowse._search.hits import missing_from
from dowse._search.request import SearchRequest
from dowse._search.state import MOST_RESULTS
from dowse.errors import DowseError, IndexUnusable, NotFound

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
        for name in self._projects:
            with suppress(DowseError, OSError):  # the search reports it
                if self.of(name).writes_answers:
                    return True
        return False

    def _each(self, ask: Callable[[Engine], Response]) -> tuple[dict[str, Response], list[str]]:
        """Search each project, and say why some give nothing."""
        if not self._projects:
            raise NotFound("There is no project yet.", "Make one with: dowse index PATH")
        found: dict[str, Response] = {}
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
        for one in response.notices:
            if one not in missing_from(response.hits):  # what other projects may have
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
    moved = [
        Sentence(sentence.text, rank)
        for name, one in found.items()
        for sentence in (one.answer.sentences if one.answer else ())
        if (rank := ranks.get((name, one.hits[sentence.hit - 1].id)))
        and scores[rank - 1] >= _WORTH * scores[0]
    ]
    return sorted(moved, key=lambda one: one.hit)


def _best(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the best hits; those of a project stay in order, and names break ties."""
    best = sorted(hits, key=lambda hit: (-hit.score, hit.project))[:limit]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(best, 1))


def _sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)
