"""The settings that tuning tries: ways of fusing, and weights of a document's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from msgspec.structs import replace

from dowse._config.schema import Settings
from dowse._search.pipeline import SearchSettings
from dowse._search.stages.strategies import STRATEGIES

SettingValues = Mapping[str, Any]
"""Settings by their full names."""

_MEANING = (
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
)  # share of the rankings by vectors; words have the rest
_NORMALISE = ("ceiling", "minmax", "zscore")
_GATHER = (0.0, 0.25, 0.5, 0.75)
_BOOSTED = ("title", "headers", "keywords", "description", "tags")
_BOOSTS = (
    (1.0, 1.0, 1.0, 1.0, 1.0),
    (3.0, 2.5, 2.5, 2.0, 2.0),
    (6.0, 5.0, 5.0, 4.0, 4.0),
    (9.0, 7.5, 7.5, 6.0, 6.0),
)


def ways_to_fuse(settings: SearchSettings) -> Iterator[SettingValues]:
    """What to change for every way of fusing, first nothing."""
    yield {}
    for meaning, normalise, share in product(_MEANING, _NORMALISE, _GATHER):
        way = {
            "fuse.method": "convex",
            "fuse.normalise": normalise,
            **_weights(meaning),
            "gather.share": share,
        }
        if changed := _changed(settings, way):
            yield changed


def _weights(meaning: float) -> dict[str, float]:
    """Weights of the strategies that every hybrid search has; others keep theirs."""
    always = [one for one in STRATEGIES if not one.optional]
    return {
        f"fuse.{one.name}": round(2 * meaning if one.uses == "vectors" else 2 - 2 * meaning, 1)
        for one in always
    }


def other_boosts(settings: Settings) -> Iterator[SettingValues]:
    """What to change for every other weighing of a document's fields."""
    for boosts in _BOOSTS:
        names = (f"keyword.{name}" for name in _BOOSTED)
        if changed := _changed(settings, dict(zip(names, boosts, strict=True))):
            yield changed


def with_boosts(settings: Settings, changes: SettingValues) -> Settings:
    """The settings with such changes."""
    boosts = {name.partition(".")[2]: value for name, value in changes.items()}
    return replace(settings, keyword=replace(settings.keyword, **boosts))


def _changed(settings: SearchSettings, wanted: SettingValues) -> SettingValues:
    """What of the wanted settings is not so yet."""
    return {name: value for name, value in wanted.items() if settings.value(name) != value}
