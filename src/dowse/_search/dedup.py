"""Results that repeat a better one, and results that differ from each other."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta

from dowse._model import Vector
from dowse._search.state import SearchState, cap_scores
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ExactDedupOptions(Options, frozen=True):
    """Whether a text is shown once only."""

    enabled: Annotated[bool, "Drop results with the same text as a better one."] = True


def drop_exact(search: SearchState) -> None:
    """Leave out texts that a better result has."""
    texts = [candidate.stored.text for candidate in search.candidates]
    begun = [tuple(text.split(None, 3)[:3]) for text in texts]
    often = Counter(begun)  # only texts that begin alike need to be read to their ends
    folded = [
        fold_whitespace(text) if often[words] > 1 else words
        for text, words in zip(texts, begun, strict=True)
    ]
    drop_repeats(search, "exact_dedup", "same text as", repeats(folded))


def fold_whitespace(text: str) -> str:
    """Return the text with every stretch of white space as one space, and none at its ends."""
    return " ".join(text.split())


def repeats(keys: Sequence[Hashable]) -> dict[int, int]:
    """Find the place of each key that came before, and the place where it came first."""
    first = {key: place for place, key in reversed([*enumerate(keys)])}
    return {place: first[key] for place, key in enumerate(keys) if first[key] != place}


def drop_repeats(search: SearchState, stage: str, what: str, found: Mapping[int, int]) -> None:
    """Leave out results, each with the place of the better one that it repeats."""
    better = [one.stored for one in search.candidates]
    search.drop(
        stage,
        {
            place: f"{what} {better[first].document.id}:{better[first].chunk.first_line}"
            for place, first in found.items()
        },
    )


# ── Nearly the same text, by the Jaccard similarity of character trigrams ──────


class NearDedupOptions(Options, frozen=True):
    """Whether nearly the same text is shown once only."""

    enabled: Annotated[
        bool,
        "Drop results with nearly the same text as a better one. A passage whose title, alias or"
        " heading is the query stays.",
    ] = True
    similarity: Annotated[
        float,
        SHARE,
        "Jaccard similarity of character trigrams at or above which two texts count as duplicates"
        " (0–1).",
    ] = 0.9


def drop_near(search: SearchState) -> None:
    """Leave out texts that a better result nearly has."""
    texts = [candidate.stored.text for candidate in search.candidates]
    # What is called like the query stays, whatever it resembles.
    kept = {n for n, one in enumerate(search.candidates) if one.stored.key in search.named}
    found = near_duplicates(texts, search.settings.near_dedup.similarity, kept)
    drop_repeats(search, "near_dedup", "nearly the same text as", found)


_CODE_BITS = 21  # hold every code point, and three times so many fit into 64
_FILLING = (1 << 21) - 1  # no code point
_SKETCH_BITS = 2048
_HASH_FACTOR = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads well (Knuth)
_HASH_SHIFT = 64 - 11  # leaves the upper 11 bits, a number below 2048

_Pairs = tuple[Iterable[tuple[int, int]], Callable[[int, int], float]]
"""Places of texts that can be similar, the worse one first, in order; and how similar they are."""


def near_duplicates(
    texts: Sequence[str], threshold: float, kept: Collection[int] = ()
) -> dict[int, int]:
    """Find the place of each text that is nearly a better placed one that stays, and of that one.

    What is at a place to be `kept` is never a duplicate.
    """
    if len(texts) < 2:
        return {}
    lowered = [text.lower() for text in texts]
    # Arrays are faster, unless numpy would have to be loaded for them.
    by = _by_arrays if "numpy" in sys.modules else _by_sets
    pairs, similarity = by(lowered, threshold)
    found: dict[int, int] = {}
    for place, other in pairs:
        is_settled = place in kept or place in found or other in found
        if not is_settled and similarity(place, other) >= threshold:
            found[place] = other
    return found


def _by_sets(texts: Sequence[str], threshold: float) -> _Pairs:
    grams = [{text[at : at + 3] for at in range(max(1, len(text) - 2))} for text in texts]

    def similarity(place: int, other: int) -> float:
        fewer, more = sorted((grams[place], grams[other]), key=len)
        if len(fewer) < threshold * len(more):
            return 0.0
        shared = len(fewer & more)
        return shared / (len(fewer) + len(more) - shared)

    places = range(len(texts))
    return ((place, other) for place in places for other in range(place)), similarity


def _by_arrays(texts: Sequence[str], threshold: float) -> _Pairs:
    """Settle most pairs by a sketch of each text: its trigrams, hashed into some bits.

    Two sketches differ in no more bits than the texts in trigrams, and similar texts differ in few
    of all that they have: at first as many as there are places, then as many as are distinct.
    """
    # One pass over all texts at once: a call per text would cost more than the work it does.
    whole = "".join(text.ljust(3) for text in texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(whole, "<u4").astype(np.uint64)
    lengths = np.array([max(3, len(text)) for text in texts])
    ends = np.cumsum(lengths)
    for text, end in zip(texts, ends.tolist(), strict=True):
        codes[end - max(0, 3 - len(text)) : end] = _FILLING  # nothing, but for a short text
    bits = np.uint64(_CODE_BITS)
    grams = (((codes[:-2] << bits) | codes[1:-1]) << bits) | codes[2:]
    owners = np.repeat(np.arange(len(texts)), lengths)
    hashed = (grams * np.uint64(_HASH_FACTOR)) >> np.uint64(_HASH_SHIFT)
    inside = owners[:-2] == owners[2:]
    marked = np.zeros(len(texts) * _SKETCH_BITS, np.bool_)
    marked[(owners[:-2] * _SKETCH_BITS + hashed.astype(np.int64))[inside]] = True
    sketches = np.packbits(marked.reshape(len(texts), -1), axis=1).view(np.uint64)
    filled = np.bitwise_count(sketches).sum(axis=1, dtype=np.int64)
    share = (1 - threshold) / (1 + threshold)
    most = share * (lengths[:, None] + lengths) + 1  # one more, for the rounding of the threshold
    places, others = np.nonzero(np.tril(np.abs(filled[:, None] - filled) <= most, -1))
    differing = np.bitwise_count(sketches[places] ^ sketches[others]).sum(axis=1, dtype=np.int64)
    close = differing <= most[places, others]
    places, others, differing = places[close], others[close], differing[close]
    distinct = {
        place: _distinct(grams[ends[place] - lengths[place] : ends[place] - 2])
        for place in {*places.tolist(), *others.tolist()}
    }
    sizes = np.array([len(distinct.get(place, ())) for place in range(len(texts))])
    close = differing <= share * (sizes[places] + sizes[others]) + 1

    def similarity(place: int, other: int) -> float:
        both = np.concatenate((distinct[place], distinct[other]))
        both.sort()
        shared = int(np.count_nonzero(both[1:] == both[:-1]))
        return shared / (len(both) - shared)

    return zip(places[close].tolist(), others[close].tolist(), strict=True), similarity


def _distinct(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort numbers in place and take each once; np.unique would load numpy.ma."""
    numbers.sort()
    return numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))]


# ── The same meaning ───────────────────────────────────────────────────────────


class SemanticDedupOptions(Options, frozen=True):
    """Whether what means the same is shown once only."""

    enabled: Annotated[bool, "Drop results that mean the same as a better one."] = False
    similarity: Annotated[
        float, SHARE, "Cosine similarity at or above which two passages count as duplicates (0–1)."
    ] = 0.85


def drop_same_meaning(search: SearchState) -> None:
    """Leave out what means the same as a better result."""
    similarity = search.settings.semantic_dedup.similarity
    kept = {n for n, one in enumerate(search.candidates) if one.stored.key in search.named}
    found = semantic_duplicates(search.vectors(), similarity, kept)
    search.merged = len(set(found.values()))
    drop_repeats(search, "semantic_dedup", "means the same as", found)


def semantic_duplicates(
    vectors: Sequence[Vector | None], threshold: float, kept: Collection[int] = ()
) -> dict[int, int]:
    """Find each vector that is close to a better placed one that stays, and the place of that one.

    What has no vector is never a duplicate, nor is what is at a place to be `kept`.
    """
    rows = directions(vectors)
    stays = np.zeros(len(vectors), np.bool_)
    found: dict[int, int] = {}
    for place, vector in enumerate(vectors):
        if vector is not None:
            close = (cosines(rows[:place], rows[place]) >= threshold) & stays[:place]
            if close.any() and place not in kept:
                found[place] = int(np.argmax(close))
            else:
                stays[place] = True
    return found


Directions: TypeAlias = "NDArray[np.float64]"
"""One row of unit length per result; a row of zeros where there is no vector."""

_PLACES = 6  # decimals that vectors of single precision can be trusted for


def directions(vectors: Sequence[Vector | None]) -> Directions:
    """Make rows of vectors that can be compared."""
    dimensions = max((len(vector) for vector in vectors if vector is not None), default=0)
    known = [np.zeros(dimensions) if vector is None else vector for vector in vectors]
    rows = np.array(known, np.float64).reshape(len(vectors), dimensions)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def cosines(rows: Directions, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the cosine of each of the rows to one; 0 where there is no vector.

    Rounded, so that equal vectors reach 1 exactly. Each pair is multiplied on its own: a product of
    matrices would let its neighbours choose the order of additions, and start threads for it.
    """
    products: NDArray[np.float64] = np.vecdot(rows, row)
    return np.round(products, _PLACES)


# ── Results that differ from each other, or come from different documents ───────


class DiversityOptions(Options, frozen=True):
    """Whether results are chosen to differ from each other."""

    mmr: Annotated[bool, "Choose results by maximal marginal relevance."] = False
    balance: Annotated[float, SHARE, "Balance of MMR: 1 is relevance only, 0 difference only."] = (
        0.7
    )
    max_chunks_per_doc: Annotated[
        int,
        Meta(ge=0, le=10_000),
        "Most results from one document; 0: no limit. Ignored with MMR.",
    ] = 0


def diversify(search: SearchState) -> None:
    """Choose results that differ, or limit how many a document may have."""
    options, kept = search.settings.diversity, search.candidates
    if not options.mmr:
        limit = options.max_chunks_per_doc
        beyond = over_limit([one.document for one in kept], limit)
        search.drop("diversity", dict.fromkeys(beyond, f"its document has {limit} better results"))
    elif not search.settled:
        vectors = search.vectors()
        relevance = as_cosines([candidate.score for candidate in kept], vectors)
        order = select_diverse(relevance, vectors, len(kept), options.balance)
        search.candidates = [kept[place] for place in order]
        cap_scores(search.candidates, "diversity")


def over_limit(documents: Sequence[str], limit: int) -> list[int]:
    """Find the places beyond the first `limit` of each document; a limit of 0 means none."""
    seen: defaultdict[str, Iterator[int]] = defaultdict(count)
    better = [next(seen[document]) for document in documents]  # results of the same document
    return [place for place, number in enumerate(better) if 0 < limit <= number]


def as_cosines(scores: Sequence[float], vectors: Sequence[Vector | None]) -> list[float]:
    """Scale scores, best first, like the cosines between the first result and the others.

    The best becomes the highest of them, the worst the lowest. Confidences are often all below 0.3
    where cosines are from 0.2 to 0.9; without a common scale a balance of both means nothing.
    """
    own = np.asarray(scores, np.float64)
    if len(own) < 2 or own[0] == own[-1]:
        return list(scores)
    rows = directions(vectors)
    among = cosines(rows[1:], rows[0])
    low, high = among.min(), among.max()
    shares = (own - own[-1]) / (own[0] - own[-1])
    scaled: list[float] = (low + shares * (high - low) if low < high else shares).tolist()
    return scaled


def select_diverse(
    relevance: Sequence[float], vectors: Sequence[Vector | None], count: int, balance: float
) -> list[int]:
    """Select the places of `count` results that are relevant and unlike each other, in order.

    One after the other is selected for `balance` times its relevance minus the rest times its
    highest cosine to what is selected; that is 0 for the first and for what has no vector. Ties
    are selected in their order, so a balance of 1 selects the first `count`.
    """
    rows = directions(vectors)
    gain = balance * np.asarray(relevance, np.float64)
    likeness = np.zeros(len(relevance))
    selected: list[int] = []
    while len(selected) < min(count, len(relevance)):
        worth = gain - (1 - balance) * likeness
        worth[selected] = -np.inf
        best = int(np.argmax(worth))
        closeness = cosines(rows, rows[best])
        likeness = np.maximum(likeness, closeness) if selected else closeness
        selected.append(best)
    return selected
