"""The strategies that rank chunks for a query, and the modes of search made from them.

A new strategy is a file with its ranking function, and here a row, a weight and, where it can be
switched off, a section of the settings. Modes, classification, explanations, ablation, the choices
of every interface, the page and the docs follow from these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from dowse._model import Keys, Ranking
from dowse._search.stages.code import CodeOptions, rank_by_code
from dowse._search.stages.graph import GraphOptions, rank_by_links
from dowse._search.stages.keyword import rank_by_keyword
from dowse._search.stages.semantic import rank_by_meaning
from dowse._search.state import MOST_RESULTS, SearchState
from dowse._util.bounds import check_bounds

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


def modes_explained() -> str:
    """All modes in one sentence, for people."""
    return "; ".join(f"{mode.name}: {mode.meaning}" for mode in MODES) + "."


_WEIGHT = Meta(ge=0, le=100)
_CANDIDATES = 50  # what fusion and confidence were fitted with; ten cost up to .013 of nDCG@10


class StrategyWeights(Struct, frozen=True, kw_only=True):
    """The weight of each strategy in fusion."""

    semantic: Annotated[float, _WEIGHT, "Weight of the semantic ranking."] = 1.3
    keyword: Annotated[float, _WEIGHT, "Weight of the keyword ranking."] = 1.0
    code: Annotated[float, _WEIGHT, "Weight of the code ranking."] = 1.0
    graph: Annotated[float, _WEIGHT, "Weight of the graph ranking."] = 0.5

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each strategy, by its name."""
        return {name: getattr(self, name) for name in StrategyWeights.__struct_fields__}


class SearchOptions(Struct, frozen=True):
    """What a search returns, and where it looks."""

    mode: Annotated[Mode, f"Which strategies rank. {modes_explained()}"] = "hybrid"
    # Which presets there are, `settings` adds from their table.
    preset: Annotated[str, "A named set of settings; empty: none."] = ""
    top_n: Annotated[int, Meta(ge=1, le=MOST_RESULTS), "How many results at most, from 1."] = 5
    top_k: Annotated[
        int,
        Meta(ge=-1, le=100_000),
        "Candidates per strategy, at least 10. 0: 50, and more where the list ends before the page"
        " that is asked for. -1: max(10, 2 × top_n).",
    ] = 0
    fresh: Annotated[bool, "Leave out results whose file has been deleted since."] = True

    def __post_init__(self) -> None:
        """Reject what no search could be run with."""
        check_bounds(self, "search")

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


def mode_of(search: SearchState) -> SearchMode:
    """Return the mode of a search."""
    return next(mode for mode in MODES if mode.name == search.settings.search.mode)


def strategies_wanted(search: SearchState) -> tuple[str, ...]:
    """Name the strategies that the mode and the settings ask for."""
    chosen = mode_of(search).strategies
    return tuple(
        one.name
        for one in STRATEGIES
        if (
            one.name in chosen
            if chosen
            else not one.optional or getattr(search.settings, one.name).enabled
        )
    )


def find_strategy(name: str) -> Strategy | None:
    """Return the strategy of this name; None for rankings that are none, such as a listing."""
    return next((one for one in STRATEGIES if one.name == name), None)
