"""numpy, loaded at its first use: listing documents or searching by words alone needs none of it.

Loading numpy takes about as long as all the rest of such a command. Modules that calculate with
arrays write `from dowse._util.arrays import np`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Has the names of numpy, and keeps each that was asked for."""

        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: ICN001, PLC0415  this is the place that loads it

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["is_loaded", "np"]


def is_loaded() -> bool:
    """Whether something has loaded numpy already, so that its use takes no time to load it."""
    return "numpy" in sys.modules
