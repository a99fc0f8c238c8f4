"""Results that repeat a better one, and results that differ from each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta

from dowse._model import Vector
from dowse._search.state import SearchState, cap_scores
from dowse._util.arrays import is_loaded, np
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
    reasons = {
        place: f"{what} {better[first].document.id}:{better[first].chunk.first_line}"
        for place, first in found.items()
    }
    search.drop(stage, reasons)


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


_SKETCH_BITS = 2048
_FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)  # of each sign: primes that spread well (xxHash)
_HASH_SHIFT = 32 - 11  # leaves the upper 11 bits, a number below 2048


def near_duplicates(
    texts: Sequence[str], threshold: float, kept: Collection[int] = ()
) -> dict[int, int]:
    """Find the place of each text that is nearly a better placed one that stays, and of that one.

    What is at a place to be `kept` is never a duplicate.
    """
    lowered = [text.lower() for text in texts]

    @cache
    def trigrams(place: int) -> set[str]:
        text = lowered[place]
        return {text[at : at + 3] for at in range(max(1, len(text) - 2))}

    # Of 95 passages, sketches take half a millisecond, but to load numpy takes a hundred.
    with_sketches = len(texts) > 1 and is_loaded()
    pairs = _alike(lowered, threshold) if with_sketches else _in_turn(len(texts))
    found: dict[int, int] = {}
    for place, other in pairs:
        if place in kept or place in found or other in found:
            continue
        fewer, more = sorted((trigrams(place), trigrams(other)), key=len)
        if len(fewer) < threshold * len(more):
            continue
        shared = len(fewer & more)
        if shared / (len(fewer) + len(more) - shared) >= threshold:
            found[place] = other
    return found


def _in_turn(count: int) -> Iterator[tuple[int, int]]:
    return ((place, other) for place in range(count) for other in range(place))


def _alike(texts: Sequence[str], threshold: float) -> list[tuple[int, int]]:
    """List the pairs of texts that can be so similar by a sketch of each, in their order.

    A sketch is the trigrams, hashed into some bits: two sketches differ in no more bits than the
    texts in trigrams, and similar texts differ in few of all that they have.
    """
    # One pass over all texts at once: a call per text would cost more than the work it does.
    whole = "".join(text.ljust(3, "\0") for text in texts).encode("utf-32-le", "surrogatepass")
    signs = np.frombuffer(whole, "<u4")
    lengths = np.array([max(3, len(text)) for text in texts])
    owners = np.repeat(np.arange(len(texts)), lengths)
    one, two, three = (signs * np.uint32(factor) for factor in _FACTORS)
    hashed = (one[:-2] + two[1:-1] + three[2:]) >> np.uint32(_HASH_SHIFT)
    inside = owners[:-2] == owners[2:]
    bits = np.zeros(len(texts) * _SKETCH_BITS, np.bool_)
    bits[(owners[:-2] * _SKETCH_BITS + hashed)[inside]] = True
    sketches = np.packbits(bits.reshape(len(texts), -1), axis=1).view(np.uint64)
    filled = np.bitwise_count(sketches).sum(axis=1, dtype=np.int64)
    # Of texts with so many trigrams between them; one more, for the rounding of the threshold.
    most = (1 - threshold) / (1 + threshold) * (lengths[:, None] + lengths) + 1
    places, others = np.nonzero(np.tril(np.abs(filled[:, None] - filled) <= most, -1))
    differing = np.bitwise_count(sketches[places] ^ sketches[others]).sum(axis=1, dtype=np.int64)
    close = differing <= most[places, others]
    return list(zip(places[close].tolist(), others[close].tolist(), strict=True))


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
        if vector is None:
            continue
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
    rows = np.zeros((len(vectors), dimensions))
    for row, vector in zip(rows, vectors, strict=True):
        if vector is not None:
            row[:] = vector
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
