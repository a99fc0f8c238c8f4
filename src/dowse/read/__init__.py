"""From a path to what its files say: which files belong, what their text is, when they change."""

from typing import TYPE_CHECKING

from dowse.late import late_names

if TYPE_CHECKING:
    from dowse.read.load import Unreadable
    from dowse.read.options import ReadOptions
    from dowse.read.roots import Root, path_of
    from dowse.read.secrets import redact
else:
    __getattr__ = late_names(
        __name__,
        {
            "load": "Unreadable",
            "options": "ReadOptions",
            "roots": "Root path_of",
            "secrets": "redact",
        },
    )

__all__ = [
    "ReadOptions",
    "Root",
    "Unreadable",
    "path_of",
    "redact",
]
