"""Source text → document: frontmatter, headings, blocks, code, links and tags."""

from dowse.parse.document import parse

VERSION = 1
"""Raise when documents are understood otherwise, so that older indexes are rebuilt."""

__all__ = ["VERSION", "parse"]
