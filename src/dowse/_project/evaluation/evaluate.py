"""What `dowse eval` does: search a judged collection in some ways, and judge what was found.

A collection is a project of its own, indexed in the cache: never the user's own index.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.presets import PRESETS
from dowse._config.schema import (
    MANY_WORDS,
    assigned,
    change_search,
    is_of_a_search,
    of_an_index,
)
from dowse._model import Announce, Event, silent
from dowse._project.engine import Engine, takes_vectors
from dowse._project.evaluation.collections import (
    Collection,
    JudgedQuery,
    Run,
    as_trec,
    check_ids,
    check_run,
    lay_out,
    read_trec,
)
from dowse._project.evaluation.measures import (
    Difference,
    RunReport,
    compare,
    compare_runs,
    latency,
    mean,
    measure_queries,
    report,
)
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.request import SearchRequest
from dowse._search.strategies import STRATEGIES
from dowse._util.files import real_path
from dowse._util.messages import counted
from dowse.errors import Locked, NotFound, StampMismatch, UsageError

# ── What is searched ────────────────────────────────────────────────────────────


class Bench(Struct, frozen=True):
    """A collection that is indexed and can be searched."""

    collection: Collection
    engine: Engine
    names: Mapping[str, str]  # what judgments call a document, where it is not its id
    notices: tuple[str, ...]  # what indexing could not do
    embedded: int  # texts that the embedder had to read

    def run(self, name: str, changes: Mapping[str, Any], announce: Announce = silent) -> Run:
        """Ask all queries of the collection with these changes to the settings."""
        queries, names = self.collection.queries, self.names
        return search_run(name, self.engine, queries, changes, names=names, announce=announce)


@contextmanager
def open_bench(
    workspace: Workspace,
    collection: Collection,
    overrides: Mapping[str, Any] | None = None,
    announce: Announce = silent,
) -> Iterator[Bench]:
    """Update the index of a collection, and open it.

    `overrides` are settings by their full names; with other settings of the index, also those of a
    preset, an index of its own is kept.
    """
    if collection.documents is None:
        raise NotFound(
            f"{collection.name} has no documents to search.",
            "Put them into docs/ or corpus.jsonl, or judge a run file: --run FILE",
        )
    if not all(query.text for query in collection.queries):
        raise NotFound(
            f"{collection.name} has no queries to ask.",
            "Put them into queries.jsonl, or judge a run file: --run FILE",
        )
    chosen = dict(overrides or {})
    folder = evaluation_folder(workspace, collection.documents, chosen)
    documents, names = collection.documents.resolve(), {}
    if not documents.is_dir():  # a corpus.jsonl
        documents = folder / "docs"
        names = lay_out(collection.documents, documents)
    project = Project(collection.name, folder, (documents,))
    here = {"store.url": "", **chosen}  # a copy is of no use to other machines
    with workspace.open(project, here, announce, fetch=True) as engine:
        withheld = workspace.settings(project).withheld
        try:
            indexed = engine.index(announce=announce)
        except StampMismatch:  # the settings have changed; nothing here is worth a question
            indexed = engine.index(rebuild=True, announce=announce)
        notices = list(indexed.notices)
        if withheld:
            notices.append(f"Its dowse.toml asks to {', to '.join(withheld)}: not done here.")
        if left_out := [item for item in indexed.left_out if item.whole]:
            files, first = counted(len(left_out), "file"), left_out[0]
            notices.append(f"{files} could not be indexed, such as {first.id}: {first.reason}")
        if unknown := _unknown(collection, engine, names):
            missing = counted(len(unknown), "judged document")
            why = "not in the collection, or left out"
            notices.append(f"{missing} cannot be found, such as {unknown[0]}: {why}.")
        yield Bench(collection, engine, names, tuple(notices), indexed.embedded)


def _unknown(collection: Collection, engine: Engine, names: Mapping[str, str]) -> list[str]:
    """List the documents that judgments name and that are not in the index.

    Raise `UsageError` when that is all of them: then names differ, and no figure would mean
    anything.
    """
    here = {names.get(entry.id, entry.id) for entry in engine.documents()}
    judged = {name for query in collection.queries for name in query.relevant}
    if here and judged and not here & judged:
        raise UsageError(
            f"No judged document is in {collection.name}: judgments name {min(judged)!r},"
            f" documents are called {min(here)!r}.",
            "Judge documents by their path below docs/, or by their _id in corpus.jsonl.",
        )
    return sorted(judged - here)


def evaluation_folder(workspace: Workspace, documents: Path, overrides: Mapping[str, Any]) -> Path:
    """Return the folder of the index over these documents, apart for other settings of it."""
    of_index = of_an_index(overrides)
    key = json.dumps([str(documents.resolve()), sorted(of_index.items())], default=str)
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return workspace.locations.evaluations / digest


# ── Searching ───────────────────────────────────────────────────────────────────

_CHUNKS_PER_DOCUMENT = 3  # results to ask for, so that their documents fill a ranking


def search_run(
    name: str,
    engine: Engine,
    queries: Sequence[JudgedQuery],
    changes: Mapping[str, Any],
    depth: int = 100,
    *,
    names: Mapping[str, str] | None = None,
    announce: Announce = silent,
) -> Run:
    """Ask every query, and rank documents by their best chunk.

    Each query is asked twice: as the settings have it, which is timed, and for enough chunks to
    fill `depth` documents, with as many candidates per strategy unless `changes` says otherwise.
    When `changes` says how many results there are, exactly these are judged. Recency does not count
    unless `changes` turns it on: files of a checkout are all new. `names` gives documents that
    judgments know by another name. Raise `Locked` when the index was changed meanwhile: no figure
    would mean anything.
    """
    generation, names = _generation(engine), names or {}
    usual = {"recency.bias": 0.0, **changes}
    deep = usual
    if "search.top_n" not in usual:
        chunks = _CHUNKS_PER_DOCUMENT * depth
        candidates = change_search(SearchSettings(), usual).search.top_k  # maybe of a preset
        deep = {**usual, "search.top_n": chunks, "search.top_k": candidates or chunks}
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    seconds: dict[str, float] = {}
    confidence: dict[str, float] = {}
    marked: set[str] = set()
    notices: Counter[str] = Counter()
    engine.search(SearchRequest("warm up", changes=usual))  # first use loads: nobody's latency
    for done, query in enumerate(queries):
        announce(Event("searching", done, len(queries), "queries"))
        began = time.perf_counter()
        response = engine.search(SearchRequest(query.text, query.filters, usual))
        seconds[query.id] = time.perf_counter() - began
        best = response.hits or response.nearest
        confidence[query.id] = best[0].score if best else 0.0
        if response.no_good_match:
            marked.add(query.id)
        notices.update(set(response.notices))
        ranking = engine.rank(SearchRequest(query.text, query.filters, deep))[:depth]
        found[query.id] = tuple((names.get(one, one), score) for one, score in ranking)
    if _generation(engine) != generation:
        raise Locked(
            "Another process has changed the index while it was measured.", "Measure once more."
        )
    least = change_search(engine.settings, usual).threshold.min_confidence
    # What was said of most queries belongs to the way of searching, not to a query.
    general = tuple(notice for notice, count in notices.most_common() if 2 * count > len(queries))
    return Run(name, found, seconds, confidence, general, frozenset(marked), least)


def _generation(engine: Engine) -> int:
    with engine.read() as reading:
        return reading.catalogue.generation


# ── Ablation: each stage and strategy switched the other way, one at a time ─────

BASELINE = "as set"
"""The variant that the others are compared with: the settings as they hold."""

_FUSION: Mapping[str, Mapping[str, Any]] = {
    "fuse: ceiling": {"fuse.method": "convex", "fuse.normalise": "ceiling"},
    "fuse: min-max": {"fuse.method": "convex", "fuse.normalise": "minmax"},
    "fuse: RRF k = 60": {"fuse.method": "rrf", "fuse.rrf_k": 60.0},
}
# Choosing results that differ shows only where few are chosen.
_FEW: Mapping[str, Mapping[str, Any]] = {
    "10 documents": {"diversity.max_chunks_per_doc": 0, "documents.passages": False},
    "10 documents, MMR": {"diversity.mmr": True, "documents.passages": False},
    "10 passages": {"diversity.max_chunks_per_doc": 0, "documents.passages": True},
    "10 passages, 2 per doc": {"diversity.max_chunks_per_doc": 2, "documents.passages": True},
    "10 passages, MMR": {"diversity.mmr": True, "documents.passages": True},
}


class Variant(Struct, frozen=True):
    """A way of searching that differs from another in one point."""

    name: str
    changes: Mapping[str, Any]  # to the settings, by their full names
    needs_vectors: bool = False  # without vectors it would do nothing


class AblationRow(Struct, frozen=True):
    """What one variant measured, compared with the settings as they hold."""

    variant: Annotated[str, "What is different."]
    changes: Annotated[Mapping[str, Any], "The settings that make the difference."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    p50: Annotated[float | None, "Seconds that half of the searches took at most."]
    difference: Annotated[float, "Of nDCG@10 to the settings as they hold."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    notices: Annotated[tuple[str, ...], "What the variant could not do."]


def ablations(settings: SearchSettings, *, by_meaning: bool = True) -> tuple[Variant, ...]:
    """List the settings as they hold, then every stage and strategy switched the other way alone.

    The last variants return a few results only, chosen in several ways: only there choosing makes
    a difference. Without vectors, what needs them is left out.
    """
    on, off = {"enabled": True}, {"enabled": False}
    variants = [
        _switched(
            one.name, off, on, one.uses == "vectors", is_on=getattr(settings, one.name).enabled
        )
        for one in STRATEGIES
        if one.optional
    ]
    variants += [
        _switched(one.name, one.off, one.on, one.needs_vectors, is_on=one.is_on(settings))
        for one in SEARCH_FLOW
        if one.off and one.ablated
    ]
    variants += [Variant(name, changes) for name, changes in _FUSION.items()]
    variants += [
        Variant(f"{one.name} alone", {"search.mode": one.name}, one.uses == "vectors")
        for one in STRATEGIES
        if one.alone
    ]
    # A stage that is off and has no usual setting changes nothing.
    variants = [
        one
        for one in variants
        if any(settings.value(name) != value for name, value in one.changes.items())
    ]
    variants += [
        Variant(
            name, {"diversity.mmr": False, **chosen, "search.top_n": 10}, "diversity.mmr" in chosen
        )
        for name, chosen in _FEW.items()
    ]
    usable = [one for one in variants if by_meaning or not one.needs_vectors]
    return (Variant(BASELINE, {}), *usable)


def _switched(
    name: str, off: Mapping[str, Any], on: Mapping[str, Any], needs_vectors: bool, *, is_on: bool
) -> Variant:
    """Make the variant in which a strategy or a stage is switched the other way."""
    changes = {f"{name}.{option}": value for option, value in (off if is_on else on).items()}
    way = "without" if is_on else "with"
    return Variant(f"{way} {name.replace('_', ' ')}", changes, needs_vectors and not is_on)


def ablate(
    collection: Collection, variants: Sequence[Variant], run: Callable[[Variant], Run]
) -> tuple[AblationRow, ...]:
    """Run every variant, and compare each with the first."""
    rows: list[AblationRow] = []
    baseline: dict[str, float] = {}
    for variant in variants:
        found = run(variant)
        measured = measure_queries(found, collection.answerable)
        average = mean(measured.values())
        if average is None:
            break
        by_query = {query: one.ndcg_10 for query, one in measured.items()}
        baseline = baseline or by_query
        against, took = compare(baseline, by_query), latency(found)
        rows.append(
            AblationRow(
                variant.name,
                variant.changes,
                average.ndcg_10,
                average.mrr,
                average.recall_100,
                took.p50 if took else None,
                against.difference,
                against.p,
                found.notices,
            )
        )
    return tuple(rows)


# ── The whole of it ─────────────────────────────────────────────────────────────

_DEFAULT = "default"

Side = tuple[str, Run | Mapping[str, Any]]
"""A name with a run, or with the changes to the settings to search with."""

OpenBench = Callable[[Mapping[str, Any], Announce], AbstractContextManager[Bench]]
"""Makes what is searched ready, with these settings."""


def sides_of(
    runs: Sequence[Path],
    compared: Sequence[str] | None,
    preset: str | None,
    assignments: Sequence[str],
) -> list[Side]:
    """List what is judged: runs of files, two sides to be compared, or a search with settings.

    Raise `UsageError` or `NotFound` for what is none of them.
    """
    if runs:
        return [(str(path), read_trec(real_path(path), str(path))) for path in runs]
    changes = dict(assigned(text) for text in assignments)
    if compared:
        return [_side(text, changes) for text in compared]
    chosen = {"search.preset": preset} if preset else {}
    return [(preset or _DEFAULT, {**chosen, **changes})]


def _side(text: str, changes: Mapping[str, Any]) -> Side:
    """Return one of two sides to be compared."""
    if text == _DEFAULT:
        return text, changes
    if text in PRESETS:
        return text, {**changes, "search.preset": text}
    if Path(text).is_file():
        return text, read_trec(real_path(Path(text)), text)
    if "=" in text:
        return text, {**changes, **dict([assigned(text)])}
    raise NotFound(
        f"{text!r} is no run file, no preset and no setting.",
        f"Presets: {', '.join(PRESETS)}; or {_DEFAULT}, or NAME=VALUE.",
    )


class MeasureRecord(Struct, frozen=True):
    """How two runs differ in one measure."""

    measure: Annotated[str, "Its name, as in `measures`."]
    values: Annotated[Difference, "What each came to, and the difference."]


class ComparisonRecord(Struct, frozen=True):
    """How two runs differ."""

    first: Annotated[str, "Name of the first run."]
    second: Annotated[str, "Name of the second run."]
    measures: Annotated[tuple[MeasureRecord, ...], "By measure."]


class EvalRecord(Struct, frozen=True):
    """What `dowse eval` found out."""

    collection: Annotated[str, "Its name."]
    documents: Annotated[int | None, "How many were searched; null when run files were judged."]
    queries: Annotated[int, "Queries with judgments."]
    unanswerable: Annotated[int, "Queries that have no answer."]
    unjudged: Annotated[int, "Queries left out because no document was judged to answer them."]
    runs: Annotated[tuple[RunReport, ...], "What each run came to; empty with `--ablate`."]
    comparison: Annotated[ComparisonRecord | None, "With `--compare`."]
    ablation: Annotated[
        tuple[AblationRow, ...], "With `--ablate`; the settings as they hold first."
    ]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]


def evaluate(
    collection: Collection,
    sides: Sequence[Side],
    open_bench: OpenBench,
    announce: Announce,
    *,
    paired: bool = False,
    ablated: bool = False,
    save: Callable[[bytes], None] | None = None,
) -> EvalRecord:
    """Search the collection, or take the runs of files, and judge what was found.

    With `paired`, two sides are compared; with `ablated`, stages and strategies are switched.
    `save` is given a single run as TREC has it.
    """
    if save:
        check_ids(query.id for query in collection.queries)
    documents: int | None = None
    notices: list[str] = []
    runs: list[Run] = []
    ablation: tuple[AblationRow, ...] = ()
    for name, side in sides:
        if isinstance(side, Run):
            runs.append(side)
            continue
        # One of the variants expands queries, which needs vectors of words.
        of_words = {"vocabulary.size": MANY_WORDS} if ablated else {}
        with open_bench({**of_words, **side}, announce) as bench:
            documents = len(bench.engine.documents())
            notices += bench.notices
            of_searches = {one: value for one, value in side.items() if is_of_a_search(one)}
            if ablated:
                ablation = _ablated(bench, of_searches, announce)
            else:
                runs.append(bench.run(name, of_searches, announce))
    if save:
        save(as_trec(runs[0]).encode("utf-8", "surrogateescape"))
    for run in runs:
        notices += [*run.notices, *check_run(collection, run)]
    comparison = None
    if paired:
        differences = compare_runs(collection, *runs)
        measures = tuple(MeasureRecord(name, values) for name, values in differences.items())
        comparison = ComparisonRecord(runs[0].name, runs[1].name, measures)
    return EvalRecord(
        collection=collection.name,
        documents=documents,
        queries=len(collection.answerable),
        unanswerable=len(collection.unanswerable),
        unjudged=collection.unjudged,
        runs=tuple(report(collection, run) for run in runs),
        comparison=comparison,
        ablation=ablation,
        notices=tuple(dict.fromkeys(notices)),
    )


def _ablated(
    bench: Bench, changes: Mapping[str, Any], announce: Announce
) -> tuple[AblationRow, ...]:
    stamp = bench.engine.built_with()
    settings = change_search(bench.engine.settings, changes)
    variants = ablations(settings, by_meaning=stamp is not None and takes_vectors(stamp))

    def run(variant: Variant) -> Run:
        place = variants.index(variant)

        def announce_part(event: Event) -> None:
            """Announce the progress of one of several equal parts as that of the whole."""
            total = event.total or 0
            done = place * total + event.done
            announce(replace(event, done=done, total=len(variants) * total))

        return bench.run(variant.name, {**changes, **variant.changes}, announce_part)

    return ablate(bench.collection, variants, run)
