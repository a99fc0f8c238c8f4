"""The strategies that rank chunks for a query, the modes made from them, and the stages that rank.

A new strategy is a file with its ranking function, and here a row, a weight and, where it can be
switched off, a section of the settings. Modes, classification, explanations, ablation, the choices
of every interface, the page and the docs follow from these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from dowse._model import Fields, Keys, Ranking, Scores, Vector
from dowse._model.ports import IndexReader, within
from dowse._search.request import leaves
from dowse._search.state import MOST_RESULTS, SearchState
from dowse._util.arrays import np
from dowse._util.bounds import Options
from dowse.errors import EmbedError, UsageError

Rank = Callable[[SearchState, int, Keys | None], Ranking]
"""Ranks the best chunks for a search: so many, and only `among` some; empty where it cannot."""


class Strategy(Struct, frozen=True):
    """One way of ranking chunks."""

    name: str
    rank: Rank
    uses: Literal["vectors", "words", "either"]  # either: vectors, or words where there are none
    meaning: str  # completes "rank …"
    optional: bool = False  # hybrid search uses it where its section of the settings enables it
    alone: str = ""  # what the page calls it as a mode of its own; "": it is no mode
    favoured_by: str = ""  # the kind of query that it is best at: see `classify`
    follows: bool = False  # it starts from what the others found: it runs after them


# ── Ranking by words ──────────────────────────────────────────────────────


_SATURATION = 2.2  # BM25's k1 + 1, which no number of occurrences exceeds


def rank_by_keyword(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Rank chunks that hold any term of the query; a missing term costs score, not the result."""
    reading, query = search.reader, search.query
    most = most_bm25(search.rarity("body", query.terms), query.alternatives)
    return Ranking("keyword", reading.keyword.search("body", query.terms, limit, among), most)


def most_bm25(rarity: Mapping[str, float], alternatives: Sequence[Sequence[str]] = ()) -> float:
    """Return the highest possible score: of every term by its rarity, repeated without end.

    A term that nothing holds counts too, so that a query that is mostly unknown stays weak. Of
    alternatives only the rarest counts.
    """
    single = dict(rarity)
    groups = [[single.pop(term, 0.0) for term in group] for group in alternatives]
    return _SATURATION * math.fsum([*single.values(), *(max(group) for group in groups if group)])


# ── Ranking by meaning ────────────────────────────────────────────────────


_MAKE_VECTORS = "Make them with: dowse config set embed.provider local, then dowse index --rebuild"


def rank_by_meaning(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Rank chunks by the cosine of their vector to the query's.

    A chunk that the model cannot read has a vector of zeros, and is near nothing.
    """
    vector = query_vector(search)
    found = [] if vector is None else search.reader.vectors.nearest(vector, limit, among)
    return Ranking("semantic", [pair for pair in found if pair[1] != 0.0], ceiling=1.0)


def query_vector(search: SearchState) -> Vector | None:
    """Embed what is searched for, once; None where that cannot be, and words can rank."""
    if search.vector is not None:
        return search.vector
    embedder, only_by_meaning = search.parts.embedder, search.strategies == ("semantic",)
    if embedder is None:
        if only_by_meaning:
            raise UsageError("The index has no vectors to rank by meaning with.", _MAKE_VECTORS)
        return None
    try:
        if search.hypothesis:
            search.vector = next(iter(embedder.passages([search.embedded_text]))).vectors[0]
        else:
            search.vector = embedder.query(search.embedded_text)
    except EmbedError as error:
        if only_by_meaning:
            raise
        search.notices.append(f"Ranked by words alone. {error}")
    return search.vector


# ── Ranking by the identifiers of code ────────────────────────────────────


class CodeOptions(Options, frozen=True):
    """Whether code blocks are a strategy of their own."""

    enabled: Annotated[
        bool, "Hybrid search also ranks code blocks by the identifiers in the query."
    ] = False


def rank_by_code(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Rank chunks whose code holds any identifier of the query, whole or in parts."""
    reading, terms = search.reader, search.query.code_terms
    most = most_bm25(search.rarity("code", terms))
    return Ranking("code", reading.keyword.search("code", terms, limit, among), most)


# ── Ranking by links: documents next to those that the other strategies found ───


_BLOCK = 200  # chunks that are looked up at a time


class GraphOptions(Options, frozen=True):
    """Whether links between documents are a strategy of their own."""

    enabled: Annotated[bool, "Hybrid search also ranks documents linked with what was found."] = (
        False
    )
    depth: Annotated[int, Meta(ge=1, le=5), "Follow links over at most this many steps (1–5)."] = 1


def rank_by_links(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Rank documents linked with the found ones, each by its best chunk for the query.

    The scores are those of the ranking by meaning, or by words where there is no vector.
    """
    reader = search.reader
    found = {one.document.id for one in search.stored(search.found_keys()).values()}
    linked = linked_documents(reader, found, search.settings.graph.depth)
    keys = reader.catalogue.keys_of(linked) if linked else np.zeros(0, dtype=np.int64)
    keys = keys if among is None else within(keys, among)
    best = one_per_document(reader, search.rank(keys) if len(keys) else [], limit)
    ceilings = {one.strategy: one.ceiling for one in search.rankings}
    ceiling = 1.0 if search.vector is not None else ceilings.get("keyword", 0.0)
    return Ranking("graph", best, ceiling)


def linked_documents(reading: IndexReader, found: Collection[str], depth: int) -> set[str]:
    """Find the documents up to `depth` links away, either way, from any of these."""
    reached: set[str] = set()
    edge_of_search = set(found)
    for _ in range(depth):
        if not edge_of_search:
            break
        ends = {
            end
            for link in reading.links.of(edge_of_search)
            if link.target is not None and link.target != link.source
            for end, other in ((link.source, link.target), (link.target, link.source))
            if other in edge_of_search
        }
        edge_of_search = ends - reached
        reached |= ends
    return reached


def one_per_document(reading: IndexReader, scores: Scores, top_k: int) -> Scores:
    """Keep the best chunk of each document, best first."""
    best: Scores = []
    seen: set[str] = set()
    for start in range(0, len(scores), _BLOCK):
        block = dict(scores[start : start + _BLOCK])
        for stored in reading.catalogue.chunks(list(block)):
            if stored.document.id not in seen:
                seen.add(stored.document.id)
                best.append((stored.key, block[stored.key]))
            if len(best) == top_k:
                return best
    return best


# ── The table ─────────────────────────────────────────────────────────────────────

STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        "semantic",
        rank_by_meaning,
        "vectors",
        "by meaning",
        alone="Meaning only",
        favoured_by="exploratory",
    ),
    Strategy(
        "keyword", rank_by_keyword, "words", "by words", alone="Words only", favoured_by="factual"
    ),
    Strategy(
        "code",
        rank_by_code,
        "words",
        "by identifiers in code",
        optional=True,
        alone="Names in code",
    ),
    Strategy(
        "graph",
        rank_by_links,
        "either",
        "by links with what was found",
        optional=True,
        favoured_by="navigational",
        follows=True,
    ),
)
"""The strategies, in the order in which they rank."""


class SearchMode(Struct, frozen=True):
    """Which strategies rank, and how the query is read."""

    name: str
    meaning: str
    label: str  # on the page
    strategies: tuple[str, ...] = ()  # empty: all that are switched on
    hypothesis: bool = False  # the query is an answer: its signs mean nothing; it is no question


MODES: tuple[SearchMode, ...] = (
    SearchMode(
        "hybrid", "rank by words and meaning, and what else is enabled", "Words and meaning"
    ),
    *(SearchMode(s.name, f"rank {s.meaning}", s.alone, (s.name,)) for s in STRATEGIES if s.alone),
    SearchMode(
        "hyde",
        "take the query as a possible answer and find texts like it",
        "Texts like this",
        ("semantic",),
        hypothesis=True,
    ),
)
"""The modes of search."""

if TYPE_CHECKING:
    Mode = Literal["hybrid", "semantic", "keyword", "code", "hyde"]
else:
    Mode = Literal[tuple(mode.name for mode in MODES)]
    """The name of a mode: a test checks that type checkers and programs see the same names."""


MODES_EXPLAINED = "; ".join(f"{mode.name}: {mode.meaning}" for mode in MODES) + "."
"""All modes in one sentence, for people."""


_WEIGHT = Meta(ge=0, le=100)
_CANDIDATES = 50  # what fusion and confidence were fitted with; ten cost up to .013 of nDCG@10


class StrategyWeights(Options, frozen=True, kw_only=True):
    """The weight of each strategy in fusion."""

    semantic: Annotated[float, _WEIGHT, "Weight of the semantic ranking."] = 2.0
    keyword: Annotated[float, _WEIGHT, "Weight of the keyword ranking."] = 1.0
    code: Annotated[float, _WEIGHT, "Weight of the code ranking."] = 1.0
    graph: Annotated[float, _WEIGHT, "Weight of the graph ranking."] = 0.5
    title: Annotated[float, _WEIGHT, "Weight of the words that a title shares with the query."] = (
        0.2
    )
    path: Annotated[float, _WEIGHT, "Weight of the words that a path shares with the query."] = 0.3
    links: Annotated[
        float, _WEIGHT, "Weight of the words that the text of a link to it shares with the query."
    ] = 0.4

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each strategy, by its name."""
        return {name: getattr(self, name) for name in StrategyWeights.__struct_fields__}


class SearchOptions(Options, frozen=True):
    """What a search returns, and where it looks."""

    mode: Annotated[Mode, f"Choose the strategies that rank. {MODES_EXPLAINED}"] = "hybrid"
    # Which presets there are, `settings` adds from their table.
    preset: Annotated[str, "A named set of settings; empty: none."] = ""
    top_n: Annotated[
        int, Meta(ge=1, le=MOST_RESULTS), "Return at most this many results, from 1."
    ] = 5
    top_k: Annotated[
        int,
        Meta(ge=-1, le=100_000),
        "Candidates per strategy, at least 10. 0: 50, and more where the list ends before the page"
        " that is asked for. -1: max(10, 2 × top_n).",
    ] = 0
    fresh: Annotated[bool, "Leave out results whose file has been deleted since."] = True

    @property
    def candidates(self) -> int:
        """How many candidates each strategy hands over."""
        usual = _CANDIDATES if self.top_k == 0 else 2 * self.top_n
        return max(10, self.top_k if self.top_k > 0 else usual)


class RetrievalSettings(Struct, frozen=True):
    """The settings of a search and of its strategies; `SearchSettings` adds those of the stages."""

    search: SearchOptions = SearchOptions()
    code: CodeOptions = CodeOptions()
    graph: GraphOptions = GraphOptions()


# ── The stages in which strategies rank ─────────────────────────────────────────


_DATES = frozenset({"after", "before"})
_ROUNDING = 1e-6  # more than a sum of single floats can be off, as a share of it
_SPARE = 16  # candidates that are fetched beyond the limit: most ties with the last one end there
_MOST_TIED = 500  # no more are fetched after so many: then the store cuts equal passages by key


def rankers(search: SearchState, *, follows: bool = False) -> tuple[Strategy, ...]:
    """Return the strategies that rank on their own, or those that follow what others found."""
    return tuple(
        one for one in STRATEGIES if one.name in search.strategies and one.follows == follows
    )


def retrieve(search: SearchState) -> None:
    """Let every strategy of the search rank that can do so on its own.

    One after the other: in parallel threads it took 3.5 ms against 3.4 over 20,000 chunks, since
    the model has all cores to itself and the keyword ranking takes a third of a millisecond.
    """
    if search.has_words:
        for strategy in rankers(search):
            _rank(search, strategy)
    # A condition such as `wind OR tag:x` can be met without any word; vectors find that, too.
    by_meaning = any(ranking.strategy == "semantic" for ranking in search.rankings)
    optional = not by_meaning and any(
        condition.kind == "any" and any(leaf.kind != "phrase" for leaf in leaves(condition))
        for condition in search.conditions
    )
    if optional or (search.conditions and not search.has_words):
        search.rankings.append(_listing(search))


def follow(search: SearchState) -> None:
    """Let strategies rank that start from what the others found."""
    for strategy in rankers(search, follows=True):
        _rank(search, strategy)


def _rank(search: SearchState, strategy: Strategy) -> None:
    """Add the best of a strategy, with scores that hardly differ made equal.

    Stores break ties by key, and a sum of single floats depends on the machine and the engine: in
    what order equal passages come, and which of them the limit cuts off, must depend on neither.
    So more is fetched until all that ties with the last one is there.
    """
    limit, count = search.limit, search.limit + _SPARE
    while True:
        ranking = strategy.rank(search, count, search.among)
        groups = list(ties(ranking.scores))
        is_cut_off = len(ranking.scores) == count and count - len(groups[-1]) < limit
        if not is_cut_off or count >= _MOST_TIED:
            break
        count *= 4
    # Those that are equal come in the order of document and position.
    stored = search.stored([key for tied in groups if len(tied) > 1 for key, _ in tied])
    places = {key: (one.document.id, one.chunk.start) for key, one in stored.items()}
    scores = [
        (key, tied[0][1])
        for tied in groups
        for key, _ in sorted(tied, key=lambda pair: places.get(pair[0], ("", 0)))
    ]
    if scores:
        search.rankings.append(replace(ranking, scores=scores[:limit], cut=len(scores) > limit))


def ties(scores: Scores) -> Iterator[Scores]:
    """Group neighbours in a ranking that differ from the first of them by no more than rounding."""
    group: Scores = []
    for pair in scores:
        if group and group[0][1] - pair[1] > _ROUNDING * max(1.0, abs(group[0][1])):
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def complete_scores(search: SearchState) -> None:
    """Let every strategy score what only others found, so that scores can be compared."""
    found, ranks = search.found_keys(), {one.name: one for one in STRATEGIES if not one.follows}
    for place, ranking in enumerate(search.rankings):
        strategy = ranks.get(ranking.strategy)
        missing = sorted(found.difference(key for key, _ in ranking.scores))
        if strategy is not None and missing:
            keys = np.array(missing, dtype=np.int64)
            others = strategy.rank(search, len(missing), keys).scores
            search.rankings[place] = replace(ranking, others=others)


# ── What documents are called: evidence that ranks nothing by itself ────────────────


_Names = Iterable[tuple[str, str]]  # the id of a document, and something that it is called
_PARTS = re.compile(r"[/.]")  # folders, and the levels of names such as `topic.publish.config`
_BETWEEN_WORDS = re.compile(r"[-_./]+")


def _paths(_: IndexReader, documents: Mapping[str, Fields]) -> _Names:
    for document in documents:
        path = document.rpartition(".")[0]
        for part in (path, _PARTS.split(path)[-1]):
            yield document, _BETWEEN_WORDS.sub(" ", part)


class NameEvidence(Struct, frozen=True):
    """Something that documents are called, and that a query may say."""

    name: str  # of its weight
    names: Callable[[IndexReader, Mapping[str, Fields]], _Names]
    meaning: str  # completes "rank …", as in a row of `STRATEGIES`


NAMES = (
    NameEvidence(
        "title",
        lambda _, documents: (
            (document, name)
            for document, fields in documents.items()
            for name in (fields.title, *fields.aliases)
        ),
        "by words of the title",
    ),
    NameEvidence("path", _paths, "by words of the path"),
    NameEvidence(
        "links",
        lambda reader, documents: reader.links.labels(documents),
        "by words of links that lead to it",
    ),
)
"""What documents are called."""


def compare_names(search: SearchState) -> None:
    """Let what its document is called speak for a chunk: its title, its path, links to it.

    A name counts by the share of the query's rarity that it has, times the square of the share of
    its words that the query has: a long name has words of every query.
    """
    rarity, terms_of = search.rarity("body", search.query.terms), search.parts.analyzer.query_terms
    most = math.fsum(rarity.values())
    stored = search.stored(sorted(search.found_keys()))
    documents = {one.document.id: one.document.fields for one in stored.values()}
    for evidence in NAMES:
        best = dict.fromkeys(documents, 0.0)
        weighs = search.weights[evidence.name] > 0
        for document, name in evidence.names(search.reader, documents) if weighs else ():
            terms = terms_of(name)
            shared = [rarity[term] for term in terms if term in rarity]
            if shared:
                found = math.fsum(shared) / most * (len(shared) / len(terms)) ** 2
                best[document] = max(best[document], found)
        others = [(key, best[one.document.id]) for key, one in stored.items()]
        search.rankings.append(Ranking(evidence.name, [], 1.0, others))


def _listing(search: SearchState) -> Ranking:
    """List the documents that fulfil all conditions, each by its first chunk, for lack of words.

    They are ordered by id, or with the newest first where a date is asked for. It has no row among
    the strategies: it ranks by nothing, so it has no weight, mode or switch.
    """
    met = search.stored(search.among.tolist() if search.among is not None else []).values()
    in_order = sorted(met, key=lambda one: (one.document.id, one.chunk.start))
    first = [next(parts) for _, parts in groupby(in_order, lambda one: one.document.id)]
    if any(leaf.kind in _DATES for condition in search.conditions for leaf in leaves(condition)):
        first.sort(key=lambda one: -one.document.modified)
    scores = [(one.key, 1.0) for one in first]
    if not search.has_words:
        return Ranking("listing", scores)  # the list of all, which can be counted
    return Ranking("listing", scores[: search.limit], cut=len(scores) > search.limit)
