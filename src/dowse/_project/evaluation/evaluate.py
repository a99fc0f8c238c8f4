"""What `dowse eval` is asked to do, and the doing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.presets import PRESETS
from dowse._config.schema import MANY_WORDS, assigned, change_search, is_of_a_search
from dowse._model import Announce, Event
from dowse._project.evaluation.bench import Bench
from dowse._project.evaluation.measures import Collection, Run
from dowse._project.evaluation.report import (
    AblationRow,
    ComparisonRecord,
    EvalRecord,
    MeasureRecord,
    Variant,
    ablate,
    ablations,
    compare_runs,
    report,
)
from dowse._project.evaluation.runs import as_trec, check_ids, check_run, read_trec
from dowse._project.outputs import check_output, write_output
from dowse._project.workspace import Workspace
from dowse._search.pipeline import SearchSettings
from dowse._util.files import real_path
from dowse._util.messages import counted
from dowse.errors import NotFound, UsageError

OpenBench = Callable[[Mapping[str, Any], Announce], AbstractContextManager[Bench]]
"""Makes what is searched ready, with these settings."""

_DEFAULT = "default"


class EvalRequest(Struct, frozen=True):
    """What the line asks for, one field per option."""

    runs: tuple[Path, ...]
    save: Path | None
    assignments: tuple[str, ...]
    preset: str | None
    compare: tuple[str, str] | None
    ablate: bool
    force: bool = False  # overwrite what `save` names

    def check(self) -> None:
        """Raises `UsageError` when two options contradict each other."""
        chosen = [
            name
            for name, given in (
                ("--run", self.runs),
                ("--compare", self.compare),
                ("--ablate", self.ablate),
            )
            if given
        ]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} contradict each other.", "Use one.")
        if chosen and self.save:
            raise UsageError(f"--save keeps one run, and {chosen[0]} is another job.", "Use one.")
        if self.runs and (self.preset or self.assignments):
            raise UsageError("With --run nothing is searched.", "Leave out --set and --preset.")
        if self.compare and self.preset:
            raise UsageError("--compare names presets itself.", "Leave out --preset.")

    def settings(self) -> dict[str, Any]:
        """What is changed, for the index and for searching."""
        preset = {"search.preset": self.preset} if self.preset else {}
        return preset | dict(assigned(text) for text in self.assignments)


def evaluate(
    workspace: Workspace,
    collection: Collection,
    wanted: EvalRequest,
    open_bench: OpenBench,
    announce: Announce,
) -> EvalRecord:
    """Searches the collection, or takes the runs of files, and judges what was found."""
    shape, files = EvalRecord.of(collection), _given_files(wanted)
    if files:
        return _judged(shape, collection, files, pair=wanted.compare is not None)
    if wanted.save:
        check_ids(query.id for query in collection.queries)
        check_output(workspace, real_path(wanted.save), force=wanted.force)
    changes = wanted.settings()
    if wanted.compare:
        sides = [(text, _side(text, changes)) for text in wanted.compare]
        return _compared_sides(shape, collection, sides, open_bench, announce)
    of_searches = _of_searches(changes)
    # An ablation also tries the expansion of queries, which needs vectors of words.
    of_words = {"vocabulary.size": MANY_WORDS} if wanted.ablate else {}
    with open_bench({**of_words, **changes}, announce) as bench:
        shape = _seen(shape, bench)
        if wanted.ablate:
            settings = change_search(bench.engine.settings, of_searches)
            return replace(shape, ablation=_ablated(bench, settings, of_searches, announce))
        run = bench.run(wanted.preset or _DEFAULT, of_searches, announce)
        if wanted.save:
            data = as_trec(run).encode("utf-8", "surrogateescape")
            write_output(workspace, real_path(wanted.save), data, force=wanted.force)
        return _judged(shape, collection, [run])


def _compared_sides(
    shape: EvalRecord,
    collection: Collection,
    sides: Sequence[tuple[str, Run | Mapping[str, Any]]],
    open_bench: OpenBench,
    announce: Announce,
) -> EvalRecord:
    """Searches for each side that is no run file, in the index that its settings need."""
    runs = []
    for name, side in sides:
        if isinstance(side, Run):
            runs.append(side)
            continue
        with open_bench(side, announce) as bench:
            shape = _seen(shape, bench)
            runs.append(bench.run(name, _of_searches(side), announce))
    return _judged(shape, collection, runs, pair=True)


def _seen(shape: EvalRecord, bench: Bench) -> EvalRecord:
    notices = dict.fromkeys((*shape.notices, *_notices(bench)))
    return replace(shape, documents=bench.documents, notices=tuple(notices))


def _of_searches(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if is_of_a_search(name)}


def _ablated(
    bench: Bench, settings: SearchSettings, changes: Mapping[str, Any], announce: Announce
) -> tuple[AblationRow, ...]:
    variants = ablations(settings, by_meaning=bench.has_vectors)

    def run(variant: Variant) -> Run:
        announce_part = _part(announce, variants.index(variant), len(variants))
        return bench.run(variant.name, {**changes, **variant.changes}, announce_part)

    return ablate(bench.collection, variants, run)


def _part(announce: Announce, place: int, count: int) -> Announce:
    """Announces the progress of one of several equal parts as that of the whole."""

    def announce_part(event: Event) -> None:
        total = event.total or 0
        announce(replace(event, done=place * total + event.done, total=count * total))

    return announce_part


def _given_files(wanted: EvalRequest) -> list[Run]:
    """The runs, when all that is wanted are files; none when something must be searched."""
    files = wanted.runs
    if wanted.compare and all(Path(text).is_file() for text in wanted.compare):
        files = tuple(Path(text) for text in wanted.compare)
    return [read_trec(real_path(path), str(path)) for path in files]


def _side(text: str, changes: Mapping[str, Any]) -> Run | Mapping[str, Any]:
    """One of two runs to be compared, or what must be changed for it."""
    if text == _DEFAULT:
        return changes
    if text in PRESETS:
        return {**changes, "search.preset": text}
    if Path(text).is_file():
        return read_trec(real_path(Path(text)), text)
    if "=" in text:
        return {**changes, **dict([assigned(text)])}
    raise NotFound(
        f"{text!r} is no run file, no preset and no setting.",
        f"Presets: {', '.join(PRESETS)}; or {_DEFAULT}, or NAME=VALUE.",
    )


def _judged(
    shape: EvalRecord, collection: Collection, runs: list[Run], *, pair: bool = False
) -> EvalRecord:
    of_runs = [notice for run in runs for notice in (*run.notices, *check_run(collection, run))]
    said = dict.fromkeys([*shape.notices, *of_runs])
    comparison = None
    if pair:
        differences = compare_runs(collection, *runs)
        measures = tuple(MeasureRecord(name, values) for name, values in differences.items())
        comparison = ComparisonRecord(runs[0].name, runs[1].name, measures)
    return replace(
        shape,
        runs=tuple(report(collection, run) for run in runs),
        comparison=comparison,
        notices=tuple(said),
    )


def _notices(bench: Bench) -> tuple[str, ...]:
    notices = list(bench.indexed.notices)
    if bench.withheld:
        notices.append(f"Its dowse.toml asks to {', to '.join(bench.withheld)}: not done here.")
    left_out = [item for item in bench.indexed.left_out if item.whole]
    if left_out:
        first = left_out[0]
        files = counted(len(left_out), "file")
        notices.append(f"{files} could not be indexed, such as {first.id}: {first.reason}")
    if unknown := bench.unknown():
        documents = counted(len(unknown), "judged document")
        why = "not in the collection, or left out"
        notices.append(f"{documents} cannot be found, such as {unknown[0]}: {why}.")
    return tuple(notices)
