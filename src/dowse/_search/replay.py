"""What the strategies retrieved, kept so that the stages can order it with other options."""

from __future__ import annotations

from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from dowse._search.pipeline import SEARCH_FLOW, SearchSettings, documents_of, run_stages
from dowse._search.stages.strategies import StrategyWeights
from dowse._search.state import SearchState

_BEFORE = tuple(takewhile(lambda stage: not stage.replayed, SEARCH_FLOW))
_REPLAYED = tuple(stage for stage in SEARCH_FLOW if stage.replayed)


class Retrieved(Struct, frozen=True):
    """A search that has run as far as its fusion; it needs no index any more."""

    _search: SearchState  # with weights of 1, times the factors that its query gave them

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be done, and how to change that."""
        return tuple(self._search.notices)

    def documents(self, settings: SearchSettings) -> tuple[tuple[str, float], ...]:
        """The documents as settings order them, each by its best chunk and with its score.

        Of the settings only the options of replayed stages count; nothing is cut or dropped.
        """
        factors, weights = self._search.weights, settings.fuse.weights
        restarted = replace(
            self._search,
            settings=settings,
            weights={name: weight * factors[name] for name, weight in weights.items()},
            candidates=[],
        )
        run_stages(restarted, _REPLAYED, {})
        return documents_of(restarted)


def retrieve_only(search: SearchState) -> Retrieved:
    """Runs the stages before fusion, with all that any way of fusing needs."""
    equal = dict.fromkeys(StrategyWeights.__struct_fields__, 1.0)
    fuse = replace(search.settings.fuse, method="convex", **equal)
    search.settings = replace(search.settings, fuse=fuse)
    run_stages(search, _BEFORE, {})
    search.stored(search.found_keys())
    return Retrieved(search)
