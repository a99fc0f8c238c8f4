"""What the strategies found, kept so that it can be fused in many ways by the stages themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dowse.flow.candidates import Searching
from dowse.flow.recipe import Recipe
from dowse.flow.searching import SEARCH_FLOW
from dowse.fuse.options import FuseOptions

_FUSION = "dynamic_weights"  # the first stage that looks at how rankings are fused
_ORDERING = frozenset({"dynamic_weights", "fuse", "gather", "recency"})


@dataclass(frozen=True, slots=True)
class Found:
    """A search that has come as far as its fusion; it needs no index any more."""

    _search: Searching  # with weights of 1, times what its query made of them

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be done, and how to change that."""
        return tuple(self._search.notices)

    def documents(self, recipe: Recipe) -> tuple[tuple[str, float], ...]:
        """The documents as a recipe orders them, each by its best chunk and with its score.

        Of the recipe only fusion, gathering and recency are used; nothing is cut or dropped.
        """
        search = self._restarted(recipe)
        for stage in SEARCH_FLOW:
            if stage.name in _ORDERING and (stage.wanted is None or stage.wanted(search)):
                stage.run(search)
        best: dict[str, float] = {}
        for candidate in search.candidates:
            best.setdefault(candidate.stored.document.id, candidate.score)
        return tuple(best.items())

    def _restarted(self, recipe: Recipe) -> Searching:
        factors = self._search.weights
        weights = {name: weight * factors[name] for name, weight in recipe.fuse.weights.items()}
        return replace(self._search, recipe=recipe, weights=weights, candidates=[])


def find(search: Searching) -> Found:
    """Runs the stages that come before fusion, with all that any way of fusing needs."""
    even = FuseOptions(method="convex", semantic=1.0, keyword=1.0, code=1.0, graph=1.0)
    search.recipe = replace(search.recipe, fuse=even)
    for stage in SEARCH_FLOW:
        if stage.name == _FUSION:
            break
        if stage.wanted is None or stage.wanted(search):
            stage.run(search)
    search.stored(search.found_keys())
    return Found(search)
