"""Document → sections and chunks."""

from typing import TYPE_CHECKING

from dowse.late import late_names

if TYPE_CHECKING:
    from dowse.chunk.options import ChunkOptions
    from dowse.chunk.strategy import chunk
else:
    __getattr__ = late_names(
        __name__,
        {
            "options": "ChunkOptions",
            "strategy": "chunk",
        },
    )

__all__ = [
    "ChunkOptions",
    "chunk",
]
