"""The first stages of a search: what is asked, and what each strategy finds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dowse.errors import EmbedError, UsageError
from dowse.flow.candidates import Searching
from dowse.fuse import community_multipliers
from dowse.retrieve import (
    classify,
    latin_share,
    nearest_words,
    rank_by_code,
    rank_by_keyword,
    rank_by_links,
    rank_by_meaning,
    rewrite,
    trusted,
    understand,
)
from dowse.types import ChunkKey, Keys, Query, Ranking, Scores, Vector

_CHOOSE = "Make them with: dowse config set embed.provider local, then dowse index --rebuild"
_DISTRUST = 3  # power of the share of Latin letters: best on both halves of a Chinese collection


def understand_query(search: Searching) -> None:
    """Tells words, phrases and conditions apart, and mends what nothing would match."""
    analyzer = search.kit.analyzer
    if search.recipe.search.mode == "hyde":  # an answer, not a query: nothing in it is a sign
        terms = tuple(analyzer.query_terms(search.written))
        asked = any(map(str.isalnum, search.written))
        notices = () if asked else ("The hypothesis holds no word to search for.",)
        search.query = Query(search.written, search.written, terms, (), notices=notices)
    else:
        understood = understand(search.written, analyzer)
        search.query = rewrite(understood, search.reading, analyzer)
    search.notices += search.query.notices
    search.embedded_text = search.query.text
    search.weights = search.recipe.fuse.weights


def weigh_by_type(search: Searching) -> None:
    """Lets the kind of query shift the weights."""
    options = search.recipe.classify
    for strategy, factor in options.multipliers(classify(search.written)).items():
        search.weights[strategy] *= factor


def expand_query(search: Searching) -> None:
    """Adds the words of the documents that lie nearest to the query, for the semantic ranking."""
    vector = _query_vector(search)
    if vector is None:
        return
    words, vectors = search.kit.words.of(search.reading)
    known = set(search.kit.analyzer.vocabulary(search.query.text))
    added = nearest_words(vector, words, vectors, known, search.recipe.expand)
    if added:
        search.embedded_text = " ".join([search.query.text, *added])
        search.vector = None  # of what was asked; the next one is of what is searched for


def retrieve(search: Searching) -> None:
    """Lets every strategy that the mode names rank.

    One after the other: side by side, in threads, took 3.5 ms against 3.4 over 20,000 chunks, since
    the model has all cores to itself and the keyword ranking takes a third of a millisecond.
    """
    if search.has_words:
        limit, among = search.recipe.search.candidates, search.among
        for strategy in strategies_wanted(search):
            ranking = run_strategy(search, strategy, limit, among)
            search.rankings += [ranking] if ranking.scores else []
    elif search.conditions:
        search.rankings.append(_listing(search))


def follow_links(search: Searching) -> None:
    """Ranks what is linked with what was found."""
    found, top_k = search.found_documents(), search.recipe.search.candidates
    depth = search.recipe.graph.depth
    ranking = rank_by_links(search.reading, found, depth, search.rank, top_k, among=search.among)
    if ranking.scores:
        # Its scores are those of the ranking by meaning, or by words where there is no vector.
        ceilings = {one.strategy: one.ceiling for one in search.rankings}
        ceiling = 1.0 if search.vector is not None else ceilings.get("keyword", 0.0)
        search.rankings.append(replace(ranking, ceiling=ceiling))


def complete_scores(search: Searching) -> None:
    """Has every strategy score what only others found, so that scores can be compared."""
    found = search.found_keys()
    search.rankings = [
        replace(ranking, others=_scores_of(search, ranking, found)) for ranking in search.rankings
    ]


def _scores_of(search: Searching, ranking: Ranking, found: set[ChunkKey]) -> Scores:
    missing = np.array(sorted(found.difference(key for key, _ in ranking.scores)), dtype=np.int64)
    if not len(missing):
        return []
    if ranking.strategy in {"semantic", "keyword", "code"}:
        return run_strategy(search, ranking.strategy, len(missing), missing).scores
    return []


def trust_the_readable(search: Searching) -> None:
    """Takes from the vectors what the model could not read, of the query and of each chunk."""
    stored = search.stored(search.found_keys())
    trust = {key: latin_share(one.text) ** _DISTRUST for key, one in stored.items()}
    typical = math.fsum(trust.values()) / len(trust) if trust else 1.0
    search.weights["semantic"] *= latin_share(search.query.text) * typical**_DISTRUST
    if min(trust.values(), default=1.0) < 1.0:
        search.rankings = [
            trusted(ranking, trust) if ranking.strategy in {"semantic", "graph"} else ranking
            for ranking in search.rankings
        ]


def favour_communities(search: Searching) -> None:
    """Notes which documents share a community with the first of a ranking."""
    stored = search.stored(search.found_keys())
    seeds = {stored[ranking.scores[0][0]].document.id for ranking in search.rankings}
    documents = [one.document.id for one in stored.values()]
    communities = search.reading.communities()
    boost = search.recipe.community.boost
    search.multipliers = community_multipliers(documents, communities, seeds, boost)


def strategies_wanted(search: Searching) -> tuple[str, ...]:
    """The strategies that the mode names."""
    mode = search.recipe.search.mode
    if mode == "hyde":
        return ("semantic",)
    if mode != "hybrid":
        return (mode,)
    return (
        ("semantic", "keyword", "code") if search.recipe.code.enabled else ("semantic", "keyword")
    )


def run_strategy(
    search: Searching, strategy: str, limit: int, among: Keys | None = None
) -> Ranking:
    """What one strategy ranks first, all or `among` some; nothing where it cannot rank at all."""
    reading, query = search.reading, search.query
    if strategy == "keyword":
        return rank_by_keyword(reading, query, limit, among)
    if strategy == "code":
        return rank_by_code(reading, query, limit, among)
    vector = _query_vector(search)
    return (
        Ranking(strategy, []) if vector is None else rank_by_meaning(reading, vector, limit, among)
    )


def _query_vector(search: Searching) -> Vector | None:
    if search.vector is None:
        search.vector = _embed(search)
    return search.vector


def _embed(search: Searching) -> Vector | None:
    embedder, mode = search.kit.embedder, search.recipe.search.mode
    only_by_meaning = mode in {"semantic", "hyde"}
    if embedder is None:
        if only_by_meaning:
            raise UsageError("The index has no vectors to rank by meaning with.", _CHOOSE)
        return None
    try:
        if mode == "hyde":
            batch = next(iter(embedder.passages([search.embedded_text])))
            vector: Vector = batch.vectors[0]
            return vector
        return embedder.query(search.embedded_text)
    except EmbedError as error:
        if only_by_meaning:
            raise
        search.notices.append(f"Ranked by words alone. {error}")
        return None


def _listing(search: Searching) -> Ranking:
    """The documents that fulfil all conditions, each by its first chunk, when nothing is asked."""
    first: dict[str, int] = {}
    for key, stored in search.stored(
        search.among.tolist() if search.among is not None else []
    ).items():
        known = first.get(stored.document.id)
        if known is None or stored.chunk.start < search.stored([known])[known].chunk.start:
            first[stored.document.id] = key
    in_order = [(first[document], 1.0) for document in sorted(first)]
    return Ranking("listing", in_order[: search.recipe.search.candidates])
