"""Regular expressions that are compiled at their first use.

One with a class of many characters takes some milliseconds to compile, and most commands use none.
"""

from __future__ import annotations

import re
from typing import Any, cast


def late_pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of a compiled one, for constants known to be valid."""
    return cast("re.Pattern[str]", _LatePattern(expression, flags))


class _LatePattern:
    """Compiles when it is asked for a method, and keeps each that was asked for."""

    def __init__(self, expression: str, flags: int) -> None:
        self._written = (expression, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._written), name)  # `re` keeps what it has compiled
        setattr(self, name, value)
        return value
