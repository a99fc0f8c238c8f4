"""What the encoder gets of a passage: what a person reads, without addresses, pictures and tags."""

from __future__ import annotations

import html
import re

from dowse._text.links import WIKILINK, is_media, read_wikilink
from dowse._text.markdown import FENCE, SHORTCODE, TAG, shortcode_text

_TARGET = r"\((?>(?:[^()\n]|\([^()\n]*+\)){0,2000})\)"
_MARKS = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|<!--(?:(?s:.)*?-->|(?s:.)*\Z)"
    rf"|(?P<tag>(?i:{TAG.pattern}))"
    r"|<?(?P<address>https?://[^\s<>()\[\]\"'`]+)>?"
    rf"|!\[(?P<picture>[^\[\]]*+)\](?:{_TARGET}|\[[^\[\]]*+\])"
    rf"|(?P<wiki>{WIKILINK.pattern})(?!\()"
    rf"|\[(?P<link>(?>(?:[^\[\]]++|\[[^\[\]]*+\](?:{_TARGET})?)*))\](?:{_TARGET}|\[[^\[\]\n]*+\])"
    r"|\*\*(?P<bold>(?=\S)[^*\n]+(?<=\S))\*\*"
    r"|^[ ]{0,3}\[[^\]^\n][^\]\n]{0,200}\]:[ ]*\S[^\n]*$"
    r"|^[ \t>]*(?:[|:\-= \t]{3,}|[*_ \t]{3,}|:::[^\n]*)$\n?",
    re.MULTILINE,
)
_FENCE = re.compile(rf"^[ \t>]*(?:[-*+][ \t]+)?{FENCE}.*$", re.MULTILINE)
_BADGE = re.compile(r"badge|shield|codecov|/actions/workflows/", re.IGNORECASE)
_GAPS = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_LONGEST_ADDRESS = 40  # characters; of a longer one the host says enough
_PIECE = re.compile(r"[^\W_]+")
_NO_WORD = re.compile(  # where a title has digits: a number, a hash, an id, a part of a date
    r"\d+(?:st|nd|rd|th|am|pm)?|t\d+z?|(?=\w*\d)[0-9a-f]{4,}|(?=(?:\D*\d){3})\w{8,}"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}"
    r"|may|w|of|the|at",
    re.IGNORECASE,
)


def shown(passage: str) -> str:
    """Return what a reader sees of a passage; code is as written."""
    parts, done = [], 0
    fences = [found.span() for found in _FENCE.finditer(passage)]
    for opening, closing in zip(fences[::2], [*fences[1::2], (len(passage),) * 2], strict=False):
        parts += [_said(passage[done : opening[0]]), passage[opening[0] : closing[1]]]
        done = closing[1]
    text = "".join((*parts, _said(passage[done:])))
    return _GAPS.sub("\n\n", text).strip()


def says_something(title: str) -> bool:
    """Tell whether a title has a word: a hash, an id or a date alone says nothing."""
    has_digits = any(map(str.isdigit, title))
    pieces = _PIECE.findall(title)
    return any(not (has_digits and _NO_WORD.fullmatch(piece)) for piece in pieces)


def _said(prose: str) -> str:
    text = prose
    if "{{" in text or "{%" in text:
        text = SHORTCODE.sub(_shortcode, text)
    text = _MARKS.sub(_without_mark, text)
    return html.unescape(text) if "&" in text else text


def _shortcode(match: re.Match[str]) -> str:
    """Return what a tag shows; a text that a variable puts in is known by the variable's name."""
    is_text = (match["liquid"] or "").split()[:1] == ["data"]
    return match[0] if is_text else shortcode_text(match)


def _without_mark(match: re.Match[str]) -> str:
    kind, said = match.lastgroup, ""
    inside = match[kind] if kind else ""
    if kind == "code":
        said = inside
    elif kind == "tag":
        said = " " if match["between"] else ""
    elif kind == "picture":
        said = "" if is_media(inside) or _BADGE.search(match[0]) else inside
    elif kind == "wiki" and (wiki := WIKILINK.match(inside)):
        name = read_wikilink(wiki).shown
        said = "" if is_media(name) else name
    elif kind == "address":
        address = inside.partition("://")[2].removeprefix("www.")
        said = address if len(address) <= _LONGEST_ADDRESS else address.partition("/")[0]
    elif inside:  # of a link, or in bold
        said = _MARKS.sub(_without_mark, inside)
    return said
