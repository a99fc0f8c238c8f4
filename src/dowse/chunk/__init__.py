"""Document → sections and chunks."""

from dowse.chunk.options import ChunkOptions
from dowse.chunk.strategy import chunk

__all__ = ["ChunkOptions", "chunk"]
