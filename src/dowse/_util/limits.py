"""How much of one document dowse takes in: every bound, in one place.

Nobody writes this much by hand. Without bounds a small file can fill memory or disk: a heading is
repeated in every chunk below it, a tag in every filter above it, a link costs more than it is long.
With them one file of the largest size that is read needs less than 400 MB of memory, and its index
is less than ten times as large as the file. What is beyond a bound is still found as text; the
document is reported as indexed in part.
"""

from __future__ import annotations

# ── Reading the text ─────────────────────────────────────────────────────────

WINDOW = 131_072
"""Characters that the block grammar reads at once: it takes up to 530 bytes for each of them."""

PROSE = 65_536
"""Characters of a paragraph in which links and tags are looked for at once."""

# ── Structure ────────────────────────────────────────────────────────────────

HEADING = 200
"""Characters of a heading, which is repeated in every chunk below it."""

HEADINGS = 20_000
CODE_BLOCKS = 10_000
TABLES = 10_000

CODE = 100_000
"""Characters of a code block that are searched as code; all of it belongs to one chunk."""

LANGUAGE = 50
"""Characters of the name of a programming language."""

BLOCKS = 100_000
"""Blocks that are distinguished; after them, short paragraphs are joined."""

JOINED = 200
"""Characters up to which paragraphs are joined then."""

PARAGRAPHS = 200_000
"""Paragraphs, headings and cells in which links and tags are looked for."""

# ── Links and tags ───────────────────────────────────────────────────────────

DEFINITIONS = 10_000


LINK = 1_000
"""Characters of each part of a link: target, anchor, label."""

LINK_TEXT = 100_000
"""Characters of all links beyond those of the document: a definition can be used very often."""

TAGS = 1_000
TAG = 100
"""Characters of a tag."""

TAG_DEPTH = 10
"""Levels of a nested tag, each of which can be filtered by."""


def most_links(length: int) -> int:
    """Return how many links a document may have: a row of the index costs as much as forty."""
    return min(50_000, 10_000 + length // 40)


# ── Frontmatter ──────────────────────────────────────────────────────────────

FRONTMATTER = 65_536
"""Characters of the frontmatter."""

FRONTMATTER_DEPTH = 64
"""Levels of nesting: YAML in brackets costs time that grows with the square of its depth."""

VALUES = 2_000
"""Values of one key: a short YAML text can stand for an endless one."""

TITLE = 300
DESCRIPTION = 2_000
ENTRIES = 200
"""Entries of a list: keywords, aliases, authors."""

ENTRY = 200
"""Characters of such an entry, and of the category."""

PROPERTIES = 200
"""Fields of the frontmatter that can be asked for."""

PROPERTY = 100
"""Characters of the name of such a field."""

# ── Words ────────────────────────────────────────────────────────────────────

FIELD_CHARACTERS = 1_000
"""Characters of a document's fields that weigh in each of its chunks, however many there are."""

WORDS = 50_000
"""Distinct words of a document that the vocabulary takes."""
