"""The only place that chooses concrete parts."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.analyze import TextAnalyzer
from dowse.embed import open_embedder
from dowse.locations import Locations
from dowse.ports import Analyzer, Embedder, Store
from dowse.projects import Project
from dowse.settings import Settings
from dowse.store.embedded.store import EmbeddedStore
from dowse.types import Announce


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine is made of."""

    store: Store
    analyzer: Analyzer
    embedder: Embedder | None  # None: the user wants no vectors


def assemble(
    project: Project,
    settings: Settings,
    locations: Locations,
    announce: Announce,
    *,
    fetch: bool,
) -> Parts:
    """The parts that the settings ask for; missing weights are fetched only when that is wanted."""
    analyzer = TextAnalyzer(settings.keyword)
    store = EmbeddedStore(project.index_folder, analyzer, announce)
    if settings.embed.provider == "none":
        return Parts(store, analyzer, None)
    embedder = open_embedder(settings.embed, locations.cache, announce, fetch=fetch)
    return Parts(store, analyzer, embedder)
