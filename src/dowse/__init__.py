"""Hybrid search over a folder of Markdown: on your own machine, offline, explained."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dowse.caretaker import Freshness, Status
    from dowse.errors import (
        BadSettings,
        Damaged,
        DowseError,
        EmbedError,
        EndpointFailed,
        EngineFailed,
        IndexUnusable,
        Locked,
        NotFound,
        Refused,
        StampMismatch,
        UsageError,
        WeightsMissing,
    )
    from dowse.flow.explain import ChunkOutcome, Explanation, StrategyRank
    from dowse.flow.listing import Counted, FieldValues, ListedDocument
    from dowse.flow.related import LinkGraph, Neighbour, Related
    from dowse.flow.report import IndexReport
    from dowse.library.all_dowse import AllDowse
    from dowse.library.async_dowse import AsyncAllDowse, AsyncDowse
    from dowse.library.dowse import Asking, Dowse, Opening
    from dowse.links.references import Passage
    from dowse.ports import Analyzer, Embedder, Reranker, Store
    from dowse.projects.registry import Project
    from dowse.types import (
        Answer,
        Counts,
        DocumentEntry,
        Edge,
        Event,
        Fields,
        Hit,
        LeftOut,
        Link,
        OtherPassage,
        Place,
        Response,
        Sentence,
        Step,
        Trace,
    )

__all__ = [
    "AllDowse",
    "Analyzer",
    "Answer",
    "Asking",
    "AsyncAllDowse",
    "AsyncDowse",
    "BadSettings",
    "ChunkOutcome",
    "Counted",
    "Counts",
    "Damaged",
    "DocumentEntry",
    "Dowse",
    "DowseError",
    "Edge",
    "EmbedError",
    "Embedder",
    "EndpointFailed",
    "EngineFailed",
    "Event",
    "Explanation",
    "FieldValues",
    "Fields",
    "Freshness",
    "Hit",
    "IndexReport",
    "IndexUnusable",
    "LeftOut",
    "Link",
    "LinkGraph",
    "ListedDocument",
    "Locked",
    "Neighbour",
    "NotFound",
    "Opening",
    "OtherPassage",
    "Passage",
    "Place",
    "Project",
    "Refused",
    "Related",
    "Reranker",
    "Response",
    "Sentence",
    "StampMismatch",
    "Status",
    "Step",
    "Store",
    "StrategyRank",
    "Trace",
    "UsageError",
    "WeightsMissing",
    "__version__",
]

__version__ = "0.2.0"

DISTRIBUTION = "dowse-search"
"""What pip installs; the name `dowse` belongs to another project there."""

# onnxruntime reports to its maker unless this is 1 when it is loaded. Every process that uses dowse
# begins here, before dowse loads it. A user who says no to that on purpose is heard.
if os.environ.get("ORT_DISABLE_TELEMETRY", "").lower() not in {"0", "false", "no", "off"}:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"

_HOMES = (
    "dowse.errors",
    "dowse.types",
    "dowse.ports",
    "dowse.projects.registry",
    "dowse.links.references",
    "dowse.flow",
    "dowse.caretaker",
    "dowse.library.all_dowse",
    "dowse.library.dowse",
    "dowse.library.async_dowse",
)
"""Where the names are defined, what loads least first."""


def __getattr__(name: str) -> Any:
    """Loads what is asked for, so that a mere `import dowse` loads nothing."""
    if name in __all__:
        for home in map(import_module, _HOMES):
            if hasattr(home, name):
                return getattr(home, name)
    raise AttributeError(f"module 'dowse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
