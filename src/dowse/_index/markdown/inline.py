"""A paragraph, heading or cell → its Markdown links, and the parts that are not prose."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import chain, groupby, pairwise
from typing import NamedTuple

import tree_sitter_markdown
from msgspec import Struct, field
from tree_sitter import Language, Node, Parser

from dowse._index.markdown.skeleton import inline_skeleton, mask_brackets, one_byte_per_character
from dowse._text.links import WIKILINK, read_wikilink

_LANGUAGE = Language(tree_sitter_markdown.inline_language())
_LINKS = {"inline_link", "full_reference_link", "collapsed_reference_link", "shortcut_link"}

Definitions = Mapping[str, str]
"""Folded label of a link definition → the address it stands for, as written."""

# The grammar's time can grow with the square of the brackets and backticks it is given. With this
# many the worst text known takes ten milliseconds; what has more is read in parts, cut at the ends
# of lines and links.
_MOST_MARKS = 500
_BETWEEN_PARTS = re.compile(r"\n|(?<=[)\]])[ \t]+")
_MARK = re.compile(r"[\[\]()<>`!]")

_SPECIAL = re.compile(r"[`<\\]|\]\(|\]\[")


class MarkdownLink(NamedTuple):
    """A link as written; offsets count from the start of the text it was found in."""

    start: int
    label: str  # with its markup
    address: str


class Inline(Struct):
    """What was found in one stretch of text."""

    links: list[MarkdownLink] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)  # code, HTML, links; in order
    unread: list[int] = field(default_factory=list)  # starts of parts that were too much to read

    def hides(self, offset: int) -> bool:
        """Return whether what is at `offset` is no prose."""
        before = bisect_right(self.hidden, offset, key=lambda span: span[0])
        return before > 0 and offset < self.hidden[before - 1][1]


def fold_label(label: str) -> str:
    """Return a label of a link definition as labels are compared: case and spaces do not count."""
    return " ".join(label.split()).casefold()


def read_inline(text: str, definitions: Definitions) -> Inline:
    """Read the links of a stretch of text and note what is not prose in it."""
    found = Inline()
    if not _SPECIAL.search(text) and not (definitions and "[" in text):
        return found
    for start, end, marks in _pieces(text):
        if marks <= _MOST_MARKS:
            _read_piece(start, text[start:end], definitions, found)
        else:
            found.unread.append(start)
            found.hidden.append((start, end))
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and marks of the text's parts: one, unless it has too many marks."""
    start = marks = 0
    if len(text) > _MOST_MARKS:
        starts = (match.end() for match in _BETWEEN_PARTS.finditer(text))
        for part_start, part_end in pairwise(chain([0], starts, [len(text)])):
            more = sum(1 for _ in _MARK.finditer(text, part_start, part_end))
            if marks + more > _MOST_MARKS and start < part_start:
                yield start, part_start, marks
                start, marks = part_start, 0
            marks += more
    yield start, len(text), marks


def _read_piece(start: int, text: str, definitions: Definitions, found: Inline) -> None:
    skeleton = inline_skeleton(text, lambda label: fold_label(label) in definitions)
    for node in Parser(_LANGUAGE).parse(skeleton).root_node.named_children:
        kind, node_start = node.type, node.start_byte
        if kind in _LINKS:
            found.links.append(_read_link(start, text, node, definitions))
        if kind != "backslash_escape" and not text.startswith("![[", node_start):
            found.hidden.append((start + node_start, start + node.end_byte))


def _read_link(start: int, text: str, node: Node, definitions: Definitions) -> MarkdownLink:
    parts = {part.type: text[part.start_byte : part.end_byte] for part in node.named_children}
    label = parts.get("link_text", "")
    if node.type == "inline_link":
        address = parts.get("link_destination", "")
    else:
        reference = parts.get("link_label", "")[1:-1] or label
        address = definitions.get(fold_label(reference), "")
    return MarkdownLink(start + node.start_byte, label, address)


# ── As people read it ────────────────────────────────────────────────────────

_MARKUP = re.compile(r"[*_`~<>\[\]\\&]")
# Emphasis takes the grammar time that grows with the square of its length.
_MOST_CHARACTERS = 1000

_DROPPED = {"emphasis_delimiter", "code_span_delimiter", "html_tag"}
_SHOWN = {"link_text", "image_description"}
_AUTOLINKS = {"uri_autolink", "email_autolink"}
# What becomes of a character; code is kept exactly as it is, of the rest entities are unescaped.
_DROP, _KEEP, _CODE = b"\0", b"\1", b"\2"


def plain_text(markup: str, definitions: Definitions) -> str:
    """Return what a reader sees of a heading or a label, on one line, without its markup."""
    if not _MARKUP.search(markup) or len(markup) > _MOST_CHARACTERS:
        return " ".join(markup.split())
    parts, end = [], 0
    for fate, run in groupby(_fates(markup, definitions)):
        start, end = end, end + sum(1 for _ in run)
        if fate == _KEEP[0]:
            parts.append(html.unescape(markup[start:end]))
        elif fate == _CODE[0]:
            parts.append(markup[start:end])
    return " ".join("".join(parts).split())


def _fates(markup: str, definitions: Definitions) -> bytearray:
    """Say for every character whether it is dropped, kept, or kept exactly as it is."""
    fates = bytearray(_KEEP * len(markup))
    skeleton = one_byte_per_character(markup)
    skeleton = mask_brackets(skeleton, markup, lambda label: fold_label(label) in definitions)
    waiting = [Parser(_LANGUAGE).parse(skeleton).root_node]
    while waiting:  # each before what it contains
        node = waiting.pop()
        _decide(node, fates)
        waiting.extend(node.named_children)
    for match in WIKILINK.finditer(markup):
        if fates[match.start() : match.start() + 1] == _KEEP:
            shown = read_wikilink(match).shown
            start = markup.rindex(shown, match.start(), match.end())
            _show_only(fates, match.span(), (start, start + len(shown)))
    return fates


def _decide(node: Node, fates: bytearray) -> None:
    kind, start, end = node.type, node.start_byte, node.end_byte
    if kind in _DROPPED:
        fates[start:end] = _DROP * (end - start)
    elif kind == "code_span":
        fates[start:end] = _CODE * (end - start)
    elif kind == "backslash_escape":
        fates[start : start + 1] = _DROP
    elif kind in _AUTOLINKS:
        _show_only(fates, (start, end), (start + 1, end - 1))
    elif kind in _LINKS or kind == "image":
        shown = [child for child in node.named_children if child.type in _SHOWN]
        part = (shown[0].start_byte, shown[0].end_byte) if shown else (start, start)
        _show_only(fates, (start, end), part)


def _show_only(fates: bytearray, whole: tuple[int, int], part: tuple[int, int]) -> None:
    fates[whole[0] : part[0]] = _DROP * (part[0] - whole[0])
    fates[part[1] : whole[1]] = _DROP * (whole[1] - part[1])
