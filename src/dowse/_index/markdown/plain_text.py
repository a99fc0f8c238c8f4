"""A heading or a label as people read it: without its markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from tree_sitter import Node, Parser

from dowse._index.markdown.inline import LANGUAGE, LINKS, Definitions, fold_label
from dowse._index.markdown.skeleton import mask_brackets, one_byte_per_character
from dowse._text.wikilinks import WIKILINK, read_wikilink

_MARKUP = re.compile(r"[*_`~<>\[\]\\&]")
# Emphasis takes the grammar time that grows with the square of its length.
_MOST_CHARACTERS = 1000

_DROPPED = {"emphasis_delimiter", "code_span_delimiter", "html_tag"}
_SHOWN = {"link_text", "image_description"}
_AUTOLINKS = {"uri_autolink", "email_autolink"}
_DROP, _KEEP, _CODE = b"\0", b"\1", b"\2"


def plain_text(markup: str, definitions: Definitions) -> str:
    """What a reader sees of `markup`, on one line."""
    if not _MARKUP.search(markup) or len(markup) > _MOST_CHARACTERS:
        return " ".join(markup.split())
    chunks = _fates(markup, definitions)
    parts = []
    for outcome, start, end in _runs(chunks):
        if outcome == _KEEP:
            parts.append(html.unescape(markup[start:end]))
        elif outcome == _CODE:
            parts.append(markup[start:end])
    return " ".join("".join(parts).split())


def _fates(markup: str, definitions: Definitions) -> bytearray:
    """For every character whether it is dropped, kept, or kept exactly as it is."""
    chunks = bytearray(_KEEP * len(markup))
    skeleton = one_byte_per_character(markup)
    skeleton = mask_brackets(skeleton, markup, lambda label: fold_label(label) in definitions)
    for node in _walk(Parser(LANGUAGE).parse(skeleton).root_node):
        _decide(node, chunks)
    for match in WIKILINK.finditer(markup):
        if chunks[match.start() : match.start() + 1] == _KEEP:
            _show_only(chunks, match.span(), _shown_part(match))
    return chunks


def _walk(root: Node) -> Iterator[Node]:
    """All named nodes, each before what it contains."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.named_children)


def _decide(node: Node, chunks: bytearray) -> None:
    kind, start, end = node.type, node.start_byte, node.end_byte
    if kind in _DROPPED:
        chunks[start:end] = _DROP * (end - start)
    elif kind == "code_span":
        chunks[start:end] = _CODE * (end - start)
    elif kind == "backslash_escape":
        chunks[start : start + 1] = _DROP
    elif kind in _AUTOLINKS:
        _show_only(chunks, (start, end), (start + 1, end - 1))
    elif kind in LINKS or kind == "image":
        shown = [child for child in node.named_children if child.type in _SHOWN]
        part = (shown[0].start_byte, shown[0].end_byte) if shown else (start, start)
        _show_only(chunks, (start, end), part)


def _show_only(chunks: bytearray, whole: tuple[int, int], part: tuple[int, int]) -> None:
    chunks[whole[0] : part[0]] = _DROP * (part[0] - whole[0])
    chunks[part[1] : whole[1]] = _DROP * (whole[1] - part[1])


def _shown_part(match: re.Match[str]) -> tuple[int, int]:
    shown = read_wikilink(match).shown
    start = match.string.rindex(shown, match.start(), match.end())
    return start, start + len(shown)


def _runs(chunks: bytearray) -> Iterator[tuple[bytes, int, int]]:
    start = 0
    for end in range(1, len(chunks) + 1):
        if end == len(chunks) or chunks[end] != chunks[start]:
            yield bytes(chunks[start : start + 1]), start, end
            start = end
