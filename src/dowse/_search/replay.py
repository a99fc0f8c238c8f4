"""What the strategies retrieved, kept so that the stages can order it with other options."""

from __future__ import annotations

from itertools import takewhile
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from dowse._search.pipeline import documents_of
from dowse._search.recipe import Recipe
from dowse._search.search_flow import SEARCH_FLOW, run_stages
from dowse._search.stages.fusion import FuseOptions
from dowse._search.state import SearchState
from dowse._util.clock import Clock

_BEFORE = tuple(takewhile(lambda stage: not stage.replayed, SEARCH_FLOW))
_REPLAYED = tuple(stage for stage in SEARCH_FLOW if stage.replayed)


class Retrieved(Struct, frozen=True):
    """A search that has run as far as its fusion; it needs no index any more."""

    _search: SearchState  # with weights of 1, times the factors that its query gave them

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be done, and how to change that."""
        return tuple(self._search.notices)

    def documents(self, recipe: Recipe) -> tuple[tuple[str, float], ...]:
        """The documents as a recipe orders them, each by its best chunk and with its score.

        Of the recipe only the options of replayed stages count; nothing is cut or dropped.
        """
        factors, weights = self._search.weights, recipe.of(FuseOptions).weights
        restarted = replace(
            self._search,
            recipe=recipe,
            weights={name: weight * factors[name] for name, weight in weights.items()},
            candidates=[],
        )
        run_stages(restarted, Clock(), _REPLAYED)
        return documents_of(restarted)


def retrieve_only(search: SearchState) -> Retrieved:
    """Runs the stages before fusion, with all that any way of fusing needs."""
    recipe = cast("Recipe", search.recipe)  # the stages need only its protocol
    search.recipe = replace(recipe, fuse=replace(recipe.fuse, method="convex"))
    search.weights = dict.fromkeys(search.weights, 1.0)
    run_stages(search, Clock(), _BEFORE)
    search.stored(search.found_keys())
    return Retrieved(search)
