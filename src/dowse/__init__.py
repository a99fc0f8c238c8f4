"""Hybrid search over a folder of Markdown: on your own machine, offline, explained."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dowse._model import (
        Answer,
        ChunkOutcome,
        Counts,
        DocumentEntry,
        Edge,
        Event,
        Explanation,
        Fields,
        Freshness,
        Hit,
        IndexReport,
        LeftOut,
        Link,
        Neighbour,
        OtherPassage,
        Passage,
        Place,
        Related,
        Response,
        Sentence,
        Step,
        StrategyRank,
        Trace,
    )
    from dowse._model.ports import Analyzer, Embedder, Reranker, Store
    from dowse._project.engine import Status
    from dowse._project.registry import Project
    from dowse._search.listing import Counted, FieldValues, LinkGraph, ListedDocument
    from dowse.api import AllDowse, Asking, AsyncAllDowse, AsyncDowse, Dowse, Opening
    from dowse.errors import (
        BadSettings,
        Damaged,
        DowseError,
        EmbedError,
        EndpointFailed,
        EngineFailed,
        IndexUnusable,
        Locked,
        Malformed,
        NotFound,
        Refused,
        StampMismatch,
        UsageError,
        WeightsMissing,
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
    "Malformed",
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
    "dowse._model",
    "dowse._model.ports",
    "dowse._project.registry",
    "dowse._search.listing",
    "dowse._project.engine",
    "dowse.api",
)
"""Where the names are defined, what loads least first."""


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that a mere `import dowse` loads nothing."""
    if name in __all__:
        for home in map(import_module, _HOMES):
            if hasattr(home, name):
                return getattr(home, name)
    raise AttributeError(f"module 'dowse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
