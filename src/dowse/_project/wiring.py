"""The only place that chooses concrete parts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from msgspec import Struct

from dowse._config.schema import Settings
from dowse._embed.open import can_rerank, open_embedder, open_reranker
from dowse._embed.options import EmbedOptions
from dowse._model import Announce
from dowse._model.ports import Analyzer, Embedder, Reranker, Store, Writer
from dowse._model.store_options import StoreOptions
from dowse._project.registry import Project
from dowse._search.answer import EndpointWriter
from dowse._store.places import Places
from dowse._store.vectors.replica import VectorReplica
from dowse._text.analyzer import TextAnalyzer
from dowse._util.locations import Locations
from dowse._util.process import cores

INDEXES = Places(VectorReplica)
"""Where projects keep their indexes. Another store, or another vector index, is chosen here."""

OpenReranker = Callable[[str], Callable[[], Reranker] | None]
"""Gives for a model's name what opens it as a reranker, or None when nothing can be opened."""


OpenStore = Callable[[Analyzer], Store]
"""Opens the store of an index whose terms this analyzer makes."""


class Given(Struct, frozen=True):
    """Parts that a program brings along, used instead of what the settings ask for."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    store: OpenStore | None = None


_NOTHING = Given()
_NO_TURN = nullcontext()
# More searches at once only slow each other down: over 20,000 chunks, 16 clients of a server on two
# cores had 64 to 70 answers per second with three at once, and 53 with eight.
_COMPUTING = threading.BoundedSemaphore(cores() + 1)


class Parts(Struct, frozen=True):
    """The parts of an engine."""

    store: Store
    analyzer: Analyzer
    embedder: Embedder | None  # None: the user wants no vectors
    reranker: OpenReranker = lambda _: None  # by model: how it is opened; None: there is none
    writer: Writer | None = None  # None: answers are the documents' own sentences
    default: Callable[[], Embedder | None] = lambda: None  # opens the model that ships
    turn: AbstractContextManager[object] = _NO_TURN  # what a search holds while it computes


def assemble(
    project: Project,
    settings: Settings,
    locations: Locations,
    announce: Announce,
    *,
    fetch: bool,
    offline: bool = False,
    given: Given = _NOTHING,
) -> Parts:
    """Make the parts of the settings, except those given; with `fetch`, weights are fetched.

    With `offline`, nothing is asked over the network in order to know which model it is.
    """
    analyzer = TextAnalyzer(settings.keyword)
    store = (
        given.store(analyzer)
        if given.store
        else open_store(project, settings.store, analyzer, announce)
    )
    embed, cache, embedder = settings.embed, locations.cache, given.embedder
    if embedder is None and embed.provider != "none":
        embedder = open_embedder(embed, cache, announce, fetch=fetch, offline=offline)
    writer = EndpointWriter(settings.answer) if settings.answer.endpoint_url else None

    def default() -> Embedder | None:
        # There is no model to compare a given embedder with.
        return None if given.embedder else open_embedder(EmbedOptions(), cache, fetch=False)

    # Searches that may wait for others need no limit.
    waits = given.embedder or given.store or settings.store.url or embed.provider == "endpoint"
    return Parts(
        store,
        analyzer,
        embedder,
        rerankers(embed, embedder, cache, announce, given.reranker, fetched=settings.rerank.model),
        writer,
        default,
        _NO_TURN if waits else _COMPUTING,
    )


def open_store(
    project: Project, options: StoreOptions, analyzer: Analyzer, announce: Announce
) -> Store:
    """Return the store of a project by these options; nothing is opened yet."""
    if options.url:
        return INDEXES.shared(project.folder, options, analyzer, announce)
    return INDEXES.store(project.folder, analyzer, announce)


def rerankers(
    options: EmbedOptions,
    embedder: Embedder | None,
    cache_dir: Path,
    announce: Announce,
    given: Reranker | None = None,
    *,
    fetched: str = "",
) -> OpenReranker:
    """Open rerankers by their model, each once; nothing is loaded before it is used.

    A given one is used for every model. Weights of the model `fetched` are fetched on first use. A
    model that only a call names is not: a search must not make this machine download.
    """
    if given is not None:
        return lambda _: lambda: given
    opened: dict[str, Reranker] = {}
    one_at_a_time = threading.Lock()

    def open_once(model: str) -> Reranker:
        with one_at_a_time:
            if model not in opened:
                opened[model] = open_reranker(
                    model, options, embedder, cache_dir, announce, fetch=model == fetched
                )
            return opened[model]

    def by_model(model: str) -> Callable[[], Reranker] | None:
        return partial(open_once, model) if can_rerank(model, embedder) else None

    return by_model
