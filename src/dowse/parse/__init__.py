"""Source text → document: frontmatter, headings, blocks, code, links and tags."""

from dowse.parse.document import parse

__all__ = ["parse"]
