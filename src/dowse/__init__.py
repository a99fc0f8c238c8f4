"""Hybrid search over a folder of Markdown: on your own machine, offline, explained."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dowse.errors import DowseError
    from dowse.library import Dowse

__all__ = ["Dowse", "DowseError", "__version__"]

__version__ = "0.1.0"

_HOMES = {"Dowse": "dowse.library", "DowseError": "dowse.errors"}


def __getattr__(name: str) -> Any:
    """Loads what is asked for, so that a mere `import dowse` loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dowse' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
