"""The strategies that rank chunks for a query, as a table, and the modes of search made from it.

A new strategy is a file with its ranking function and a row here. Modes, weights, classification,
explanations, ablation, the choices of every door, the page and the docs follow from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from dowse._model import Keys, Ranking
from dowse._search.stages.code import CodeOptions, rank_by_code
from dowse._search.stages.graph import GraphOptions, rank_by_links
from dowse._search.stages.keyword import rank_by_keyword
from dowse._search.stages.semantic import rank_by_meaning
from dowse._search.state import SearchState

Rank = Callable[[SearchState, int, Keys | None], Ranking]
"""Ranks the best chunks for a search: so many, and only `among` some; empty where it cannot."""


class Strategy(Struct, frozen=True):
    """One way of ranking chunks."""

    name: str
    rank: Rank
    uses: Literal["vectors", "words", "either"]  # either: vectors, or words where there are none
    meaning: str  # completes "rank …"
    weight: float = 1.0  # in fusion, unless the settings say otherwise
    options: type[Any] | None = None  # its section, with `enabled`; None: hybrid always uses it
    alone: str = ""  # what the page calls it as a mode of its own; "": it is no mode
    favoured_by: str = ""  # the kind of query that it is best at: see `classify`
    follows: bool = False  # it starts from what the others found: it runs after them

    def is_wanted(self, search: SearchState) -> bool:
        """Whether a hybrid search uses it."""
        return self.options is None or bool(search.of(self.options).enabled)


STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        "semantic",
        rank_by_meaning,
        "vectors",
        "by meaning",
        weight=1.3,
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
        options=CodeOptions,
        alone="Names in code",
    ),
    Strategy(
        "graph",
        rank_by_links,
        "either",
        "by links with what was found",
        weight=0.5,
        options=GraphOptions,
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


def mode_of(search: SearchState) -> SearchMode:
    """The mode of a search."""
    return next(mode for mode in MODES if mode.name == search.asked.mode)


def strategies_wanted(search: SearchState) -> tuple[str, ...]:
    """The names of the strategies that the mode and the settings ask for."""
    chosen = mode_of(search).strategies
    return tuple(
        one.name for one in STRATEGIES if (one.name in chosen if chosen else one.is_wanted(search))
    )


def find_strategy(name: str) -> Strategy | None:
    """The strategy of this name; None for rankings that are none, such as a listing."""
    return next((one for one in STRATEGIES if one.name == name), None)
