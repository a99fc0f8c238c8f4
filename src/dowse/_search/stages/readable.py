"""Vectors count as far as the model can read the script of a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import ChunkKey, Ranking, Scores
from dowse._search.stages.strategies import STRATEGIES
from dowse._search.state import SearchState
from dowse._text.scripts import latin_share

_DISTRUST = 3  # power of the share of Latin letters: best on both halves of a Chinese collection
_USE_VECTORS = {one.name for one in STRATEGIES if one.uses != "words"}


class ReadableOptions(Struct, frozen=True):
    """Whether vectors count only as far as the model can read the script of a text."""

    enabled: Annotated[
        bool,
        "For a model trained on Latin letters: give vectors less weight, the more of a text is in"
        " other scripts.",
    ] = True


def trust_the_readable(search: SearchState) -> None:
    """Lowers what vectors contribute by what the model could not read of the query and chunks."""
    stored = search.stored(search.found_keys())
    trust = {key: latin_share(one.text) ** _DISTRUST for key, one in stored.items()}
    typical = math.fsum(trust.values()) / len(trust) if trust else 1.0
    for strategy in STRATEGIES:
        if strategy.uses == "vectors":
            search.weights[strategy.name] *= search.latin * typical**_DISTRUST
    if min(trust.values(), default=1.0) < 1.0:
        search.rankings = [
            trusted(one, trust) if one.strategy in _USE_VECTORS else one for one in search.rankings
        ]


def reads_latin(search: SearchState) -> bool:
    """Tell whether the model behind the vectors can read Latin letters alone."""
    embedder = search.parts.embedder
    return search.vector is not None and embedder is not None and embedder.model.latin_only


def trusted(ranking: Ranking, trust: Mapping[ChunkKey, float]) -> Ranking:
    """The ranking with each score times the trust in its text, from 0 to 1."""

    def lowered(scores: Scores) -> Scores:
        lower = [(key, score * trust[key]) for key, score in scores]
        return sorted(lower, key=lambda pair: -pair[1])  # ties stay in their order

    return replace(ranking, scores=lowered(ranking.scores), others=lowered(ranking.others))
