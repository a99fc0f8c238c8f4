"""Document → sections and chunks."""

from dowse.chunk.options import ChunkOptions
from dowse.chunk.strategy import chunk

VERSION = 1
"""Raise when documents are cut otherwise, so that older indexes are rebuilt."""

__all__ = ["VERSION", "ChunkOptions", "chunk"]
