"""Markdown → the pieces that a reader sees: paragraphs, list items, table rows, code, headings.

This is a reading for display. It forgives whatever a cut in the middle of a document leaves:
a table without its head, a list item without its list.
"""

from __future__ import annotations

import html
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import Literal

from msgspec import Struct, field

from dowse._text.links import WIKILINK, is_media, read_wikilink
from dowse._text.matching import fold_name
from dowse._text.scripts import late_pattern

PieceKind = Literal["heading", "prose", "row", "code"]
"""What a piece is."""

FENCE = r"(?:`{3,}(?=[^`\n]*$)|~{3,})"
"""A pattern for what opens a block; backticks with others on their line are code in a sentence."""

CALLOUT = re.compile(r"\[!(?P<kind>[\w-]{1,40})(?:\|[^\]\n]{0,100})?\][+-]?[ \t]*")
"""The kind of a callout, where a quote begins with it: `> [!warning] Hot`."""


_FRONTMATTER_LINE = re.compile(r"[\w-]+\s*[:=]|#|$")
_QUOTE = re.compile(r"^(?:[ ]{0,3}>[ ]?)+")
_QUOTE_IN_LIST = re.compile(r"^(?:[ \t]{0,12}>[ ]?)+")
_FENCE = re.compile(rf"\s*(?:(?:[-*+]|\d{{1,9}}[.)])\s+)?({FENCE})")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*$")
_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|:::.*)$")
_SEPARATOR = re.compile(r"\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-*+:?\s*+)*+$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"\s{0,3}\[[^\]^][^\]]*\]:\s*\S+")
_INDENTED = re.compile(r"(?: {4}|\t)")
_COMMENTED = re.compile(r"<!--.*?-->", re.DOTALL)
_SWALLOWED = "\ue00a"  # a line feed in a comment
_CELL = re.compile(r"(?<!\\)\|")


class Piece(Struct, frozen=True):
    """One stretch of a text that belongs together, without the marks of its block."""

    kind: PieceKind
    markup: str  # inline marks are still in it, except in code, which is literal
    labelled: str = ""  # of a row: each cell with the name of its column
    level: int = 0  # of a heading, 1 to 6; 0 for the head of a table
    line: int = 0  # of the text, from 0, where it begins


def pieces(text: str) -> list[Piece]:
    """Return the pieces of a text, in their order; frontmatter, comments and rules are left out."""
    reader, body, mark = _Reader(), text, text[:3]
    if mark in {"---", "+++"} and text[3:4] == "\n":
        end = text.find(f"\n{mark}", 3, 20_000)
        if end >= 0 and _FRONTMATTER_LINE.match(text[4:].partition("\n")[0]):
            body = text[end + 4 :].partition("\n")[2]
    number = text.count("\n") - body.count("\n")
    # Comments are left out, with a mark for each line feed in them. After the last end of one, the
    # pattern would look for another at every beginning.
    commented, mark, rest = body.rpartition("-->")
    shown = _COMMENTED.sub(lambda found: _SWALLOWED * found[0].count("\n"), commented + mark) + rest
    for line in shown.split("\n"):
        number += line.count(_SWALLOWED)
        reader.take(line.replace(_SWALLOWED, ""), number)
        number += 1
    reader.end()
    return reader.found


class _Reader(Struct):
    """Takes line after line and collects the pieces that they make."""

    found: list[Piece] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of the open paragraph or list item
    rows: list[tuple[int, str]] = field(default_factory=list)  # of the open table, with numbers
    fence: str = ""  # what opened the code that is being read
    code: list[str] = field(default_factory=list)
    number: int = 0  # of the line that is being read
    first: int = 0  # of the line that the open paragraph, item or code began with
    in_list: bool = False

    def take(self, line: str, number: int) -> None:
        """Read one line."""
        self.number = number
        bare = line
        if ">" in line[:13]:
            quote = _QUOTE_IN_LIST if self.in_list else _QUOTE
            indent = " " if line[0].isspace() else ""  # a quote in a list stays in it
            bare = quote.sub(indent, line)
            if bare is not line and (callout := CALLOUT.match(bare, len(indent))):
                bare = f"{indent}{callout_name(callout)}: {bare[callout.end() :]}"
        if self.fence:
            closing = bare.strip()
            if len(closing) >= len(self.fence) and not closing.strip(self.fence[0]):
                self.fence = ""
                self.end()
            else:
                self.first = self.first if self.code else number
                self.code.append(bare)
        elif not bare.strip():
            self.end()
        else:
            self._take_text(bare)

    def end(self) -> None:
        """Close whatever is open."""
        if self.lines:
            self._add("prose", " ".join(self.lines), line=self.first)
        if self.rows:
            self._add_table()
        if self.code:
            self._add("code", "\n".join(self.code), line=self.first)
        self.lines, self.rows, self.code = [], [], []

    def _take_text(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self.end()
            self.fence = fence[1]
        elif heading := _HEADING.match(line):
            self.end()
            self.in_list = False
            text = without_attributes(without_closing(line[heading.end() :]))
            self._add("heading", text, level=len(heading[1]), line=self.number)
        elif (
            line.lstrip().startswith("|")
            or ("|" in line and self.rows)
            or ("|" in line and "|" in "".join(self.lines[-1:]) and _SEPARATOR.match(line))
        ):
            if not self.rows:
                head = [self.lines.pop()] if self.lines and _SEPARATOR.match(line) else []
                self.end()
                self.rows = [(self.number - 1, row) for row in head]
            self.rows.append((self.number, line))
        elif self.lines and _UNDERLINE.match(line):
            text = " ".join(self.lines)
            self._add("heading", text, level=1 if "=" in line else 2, line=self.first)
            self.lines = []
        elif _RULE.match(line):
            self.end()
        else:
            self._take_prose(line)

    def _take_prose(self, line: str) -> None:
        if not self.lines and not self.in_list and _INDENTED.match(line):
            self.first = self.first if self.code else self.number
            self.code.append(line)
        elif item := _ITEM.match(line):
            self.end()
            self.in_list = True
            self.first = self.number
            self.lines = [line[item.end() :].strip()]
        elif self.lines or not _DEFINITION.match(line):
            if not self.lines:
                self.end()
                self.first = self.number
            self.in_list = self.in_list and line[0].isspace()
            self.lines.append(line.strip())

    def _add_table(self) -> None:
        rows = self.rows
        names: list[str] = []
        if len(rows) > 1 and _SEPARATOR.match(rows[1][1]):
            (number, head), _, *rows = rows
            names = _cells(head)
            self._add("heading", " · ".join(filter(None, names)), line=number)
        for number, row in rows:
            if not _SEPARATOR.match(row):
                cells = _cells(row)
                labelled = "; ".join(
                    f"{name}: {cell}" if name else cell
                    for name, cell in zip_longest(names, cells, fillvalue="")
                    if cell
                )
                self._add("row", " · ".join(filter(None, cells)), labelled, line=number)

    def _add(
        self, kind: PieceKind, markup: str, labelled: str = "", *, level: int = 0, line: int
    ) -> None:
        if markup.strip():
            self.found.append(Piece(kind, markup, labelled, level, line))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(row.strip().strip("|"))]


# ── Which headings a part of a passage is under ───────────────────────────


def under_headings(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    """Yield each piece with its headings, the nearest last; a heading is under itself."""
    above: list[Piece] = []
    path: tuple[str, ...] = ()
    for piece in pieces:
        if piece.level:
            above = [*(one for one in above if one.level < piece.level), piece]
            path = tuple(" ".join(plain(one.markup).replace("`", "").split()) for one in above)
        yield piece, path


def without_closing(heading: str) -> str:
    """Return a heading without the marks that may close it: `# Title #`."""
    heading = heading.strip()
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def without_attributes(heading: str) -> str:
    """Return a heading without `{#anchor .class}` at its end."""
    bare = heading.rstrip(" \t")
    opening = bare.rfind("{")
    if not bare.endswith("}") or opening < 0 or "}" in bare[opening:-1]:
        return heading
    is_list = bare[opening + 1 :].lstrip(" \t").startswith(("#", ".", ":"))
    return bare[:opening].rstrip(" \t") if is_list else heading


def shown_name(title: str) -> str:
    """Return what a reader sees of a title or heading that has tags of a site generator."""
    return " ".join(SHORTCODE.sub(shortcode_text, title).split()) if "{" in title else title


def heading_path(above: tuple[str, ...], inside: Sequence[str]) -> tuple[str, ...]:
    """Return the headings above a passage, then those in it that the first do not name already."""
    known = {fold_name(heading) for heading in above}
    return (*above, *(heading for heading in inside if fold_name(heading) not in known))


# ── Marks ────────────────────────────────────────────────────────────────────


def closing_fence(opening: str) -> re.Pattern[str]:
    """Return the line that closes what these backticks or tildes have opened."""
    return re.compile(rf"^ {{0,3}}{opening[0]}{{{len(opening)},}}[ \t]*$", re.MULTILINE)


def callout_name(match: re.Match[str]) -> str:
    """Return the kind of what `CALLOUT` matched, for people: Warning."""
    return match["kind"].replace("-", " ").capitalize()


# ── Inline marks ───────────────────────────────────────────────────────────────

_HIDE = {ord(character): 0xE000 + ord(character) for character in string.punctuation + " "}
_REVEAL = {hidden: character for character, hidden in _HIDE.items()}
_HIDDEN = re.compile("[\ue020-\ue07e]+")
_HIDDEN_BACKTICK = "`".translate(_HIDE)

# Each pattern begins with one fixed character, which lets the search skip from one to the next.
_CODE = re.compile(r"(`++)(?:(.+?)(?<!`)\1(?!`))?", re.DOTALL)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ADDRESS = re.compile(
    r"<([A-Za-z][A-Za-z+.-]{1,30}:[^\s<>]{1,1000}|[^\s<>@]{1,100}@[^\s<>@]{1,100})>"
)
_COMMENT = re.compile(r"<!--(?>(?:[^-]|-(?!->)){0,1000})-->")
_TARGET = r"\((?:[^()\n]|\([^()\n]*\)){0,1000}\)"
_IMAGE = re.compile(rf"!\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]]*+\])")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]:?")
_LINK = re.compile(rf"\[((?>(?:[^\[\]]++|\[[^\[\]]*+\])*))\](?:{_TARGET}|\[[^\[\]]*+\])")
_UNLINKED_WIKILINK = re.compile(rf"{WIKILINK.pattern}(?!\()")  # `[[1]](address)` is a Markdown link
TAG = late_pattern(
    r"</?(?:(?P<inside>a|abbr|b|code|del|em|font|i|ins|kbd|label|mark|q|s|samp|small|span|strong|"
    r"sub|sup|tt|u|var|wbr)|(?P<between>article|blockquote|br|caption|center|col|colgroup|dd|"
    r"details|div|dl|dt|figcaption|figure|h[1-6]|hr|iframe|img|input|li|ol|p|picture|pre|section|"
    r"source|summary|svg|table|tbody|td|th|thead|tr|ul|video))(?:\s[^<>]{0,1000})?/?>",
    re.IGNORECASE,
)
"""A tag of HTML. Anything else between angle brackets may be meant: `Vec<String>`."""
_STARS = re.compile(r"(\*{1,3})(?=[^\s*])([^*]++)(?<=[^\s*])\1")
# What a tag of a site generator has left empty: `**{% octicon "gear" %} Settings**`.
_PADDED = re.compile(r"(?<![\w*])\*\* +([^\s*][^*]*)(?<=[^\s*])\*\*(?![\w*])")
_UNDERSCORES = re.compile(r"_(?<!\w_)(_{0,2})(?=[^\s_])([^_]++)(?<=[^\s_])_\1(?!\w)")
_STRUCK_OR_LIT = re.compile(r"(~~|==)(?=\S)([^~=]++)(?<=\S)\1")
_SAID_TWICE = re.compile(  # `> [!NOTE] Note that`
    r"\b(Note|Tip|Info|Hint|Important|Warning|Caution|Danger|Alert): (?=\1\b)", re.IGNORECASE
)
BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]{1,40}\s*$")
"""The name that Obsidian gives a block, at its end."""


def plain(markup: str, *, shortcodes: bool = True) -> str:
    """Return what a reader sees of a stretch of inline Markdown; `shortcodes` False: as written."""
    return reveal(strip_marks(markup, shortcodes=shortcodes))


def reveal(text: str) -> str:
    """Return the text with what `strip_marks` hid."""
    return _HIDDEN.sub(lambda hidden: hidden[0].translate(_REVEAL), text)


def strip_marks(text: str, *, shortcodes: bool = True) -> str:
    """Return the text without its marks; what must be taken literally is hidden until `reveal`."""
    if "`" in text:
        text = _CODE.sub(_literal_code, text.replace("\\`", _HIDDEN_BACKTICK))
    if "[[" in text:  # before escapes: in a table the bar inside a link has a backslash
        text = _UNLINKED_WIKILINK.sub(_words_of_wikilink, text)
    if "\\" in text:
        text = _ESCAPED.sub(lambda escaped: escaped[1].translate(_HIDE), text)
    if shortcodes and ("{{" in text or "{%" in text):  # before tags, whose addresses have them
        text = SHORTCODE.sub(shortcode_text, text).replace("****", "")
    if "<" in text:
        text = _COMMENT.sub("", text)
        text = _ADDRESS.sub(lambda address: address[1].translate(_HIDE), text)
        text = TAG.sub(lambda tag: " " if tag["between"] else "", text)
    if "[" in text:
        text = _IMAGE.sub(lambda image: _words(image[1]), _FOOTNOTE.sub("", text))
        text = _LINK.sub(r"\1", text)
    text = _without_emphasis(text)
    if ": " in text:
        text = _SAID_TWICE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    return BLOCK_ID.sub("", text) if "^" in text else text


def _literal_code(match: re.Match[str]) -> str:
    if (code := match[2]) is None:
        return match[0]
    if code.startswith(" ") and code.endswith(" ") and code.strip():
        code = code[1:-1]  # one blank next to a backtick only keeps the two apart
    return code.translate(_HIDE)


def _words(shown: str) -> str:
    """Return what is said of a picture, unless that is the name of its file."""
    return "" if is_media(shown) else shown


def _without_emphasis(text: str) -> str:
    if "** " in text:
        text = _PADDED.sub(r"\1", text)
    # The second pass takes what lay around the first: `**bold and *slanted* text**`.
    for mark, pattern in (("*", _STARS), ("_", _UNDERSCORES)):
        for _ in range(2 if mark in text else 0):
            text = pattern.sub(r"\2", text)
    return _STRUCK_OR_LIT.sub(r"\2", text) if "~~" in text or "==" in text else text


def _words_of_wikilink(match: re.Match[str]) -> str:
    return _words(read_wikilink(match).shown)


def without_images(markup: str) -> str:
    """Return the Markdown without its images, whose descriptions are no part of the text."""
    return _IMAGE.sub("", markup)


# ── Tags of site generators ─────────────────────────────────────────────────────

SHORTCODE = late_pattern(
    r"\{\{[<%](?P<hugo>[^{}]{0,400}?)[>%]\}\}"
    r"|\{%-?(?P<liquid>[^%{}]{0,400})%\}"
    r"|\{\{-?\s*(?:\"(?P<text>[^\"{}]{0,200})\"|(?:site|page|include|layout)\.[\w.]{1,100})"
    r"[^{}]{0,200}\}\}"
    r"|\{\{ ?fm\.[\w.]{1,100} ?\}\}\.?"
)
"""A shortcode of Hugo, a tag of Liquid, or a text or variable of site or page that is put in."""

_SHOWN = re.compile(
    r"""(?<![\w-])(?:text|title|caption|content|alt|label)=(?:"([^"]*)"|'([^']*)')"""
)
_NAMING = re.compile(r"""\s*(ref|relref|heading)\s+["']([^"']*)["']""")
_HEADINGS = {
    "prerequisites": "Before you begin",
    "whatsnext": "What's next",
    "seealso": "See also",
    "envvars": "Environment variables",
    "cleanup": "Cleaning up",
    "parentoptions": "Options inherited from parent commands",
}
"""What Kubernetes' site writes for names of headings that are no words."""
_NOTES = frozenset(
    {"note", "tip", "info", "hint", "important", "warning", "caution", "danger", "alert"}
)


def shortcode_text(match: re.Match[str]) -> str:
    """Return what a reader sees of a `SHORTCODE`: `{{< term text="pods" >}}` shows pods."""
    if match["text"] is not None:
        return match["text"]
    inside = match["hugo"] or match["liquid"] or ""
    if shown := _SHOWN.search(inside):
        return shown[1] or shown[2] or ""
    if naming := _NAMING.match(inside):
        tag, named = naming.groups()
        return _HEADINGS.get(named, named.capitalize()) if tag == "heading" else named
    name = next(iter(inside.split()), "").strip("-")
    return f"{name.capitalize()}: " if name in _NOTES else ""


# ── What the encoder gets: what a person reads, without addresses, pictures and tags ─────────

_IN_PARENTHESES = r"\((?>(?:[^()\n]|\([^()\n]*+\)){0,2000})\)"
_MARKS = late_pattern(
    r"(?P<code>`[^`\n]+`)"
    r"|<!--(?:(?s:.)*?-->|(?s:.)*\Z)"
    rf"|(?P<tag>(?i:{TAG.pattern}))"
    r"|<?(?P<address>https?://[^\s<>()\[\]\"'`]+)>?"
    rf"|!\[(?P<picture>[^\[\]]*+)\](?:{_IN_PARENTHESES}|\[[^\[\]]*+\])"
    rf"|(?P<wiki>{WIKILINK.pattern})(?!\()"
    rf"|\[(?P<link>(?>(?:[^\[\]]++|\[[^\[\]]*+\](?:{_IN_PARENTHESES})?)*))\](?:{_IN_PARENTHESES}|\[[^\[\]\n]*+\])"
    r"|\*\*(?P<bold>(?=\S)[^*\n]+(?<=\S))\*\*"
    r"|^[ ]{0,3}\[[^\]^\n][^\]\n]{0,200}\]:[ ]*\S[^\n]*$"
    r"|^[ \t>]*(?:[|:\-= \t]{3,}|[*_ \t]{3,}|:::[^\n]*)$\n?",
    re.MULTILINE,
)
_FENCE_LINE = late_pattern(rf"^[ \t>]*(?:[-*+][ \t]+)?{FENCE}.*$", re.MULTILINE)
_BADGE = late_pattern(r"badge|shield|codecov|/actions/workflows/", re.IGNORECASE)
_GAPS = late_pattern(r"[ \t]*\n(?:[ \t]*\n)+")

_PIECE = late_pattern(r"[^\W_]+")
_NO_WORD = late_pattern(  # where a title has digits: a number, a hash, an id, a part of a date
    r"\d+(?:st|nd|rd|th|am|pm)?|t\d+z?|(?=\w*\d)[0-9a-f]{4,}|(?=(?:\D*\d){3})\w{8,}"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}"
    r"|may|w|of|the|at",
    re.IGNORECASE,
)


def shown(passage: str) -> str:
    """Return what a reader sees of a passage; code is as written."""
    parts, done = [], 0
    fences = [found.span() for found in _FENCE_LINE.finditer(passage)]
    for opening, closing in zip(fences[::2], [*fences[1::2], (len(passage),) * 2], strict=False):
        parts += [_said(passage[done : opening[0]]), passage[opening[0] : closing[1]]]
        done = closing[1]
    return _GAPS.sub("\n\n", "".join((*parts, _said(passage[done:])))).strip()


def says_something(title: str) -> bool:
    """Tell whether a title has a word: a hash, an id or a date alone says nothing."""
    has_digits = any(map(str.isdigit, title))
    return any(not (has_digits and _NO_WORD.fullmatch(one)) for one in _PIECE.findall(title))


def _said(prose: str) -> str:
    return html.unescape(_MARKS.sub(_without_mark, SHORTCODE.sub(_shortcode, prose)))


def _shortcode(match: re.Match[str]) -> str:
    """Return what a tag shows; a text that a variable puts in is known by the variable's name."""
    is_text = (match["liquid"] or "").split()[:1] == ["data"]
    return match[0] if is_text else shortcode_text(match)


def _without_mark(match: re.Match[str]) -> str:
    kind = match.lastgroup
    inside = match[kind] if kind else ""
    match kind:
        case "code":
            return inside
        case "tag":
            return " " if match["between"] else ""
        case "picture":
            return "" if _BADGE.search(match[0]) else _words(inside)
        case "wiki":
            return WIKILINK.sub(_words_of_wikilink, inside)
        case "address":
            address = inside.partition("://")[2].removeprefix("www.")
            # Of a longer one the host says enough.
            return address if len(address) <= 40 else address.partition("/")[0]
        case _:  # of a link, or in bold
            return _MARKS.sub(_without_mark, inside)


# ── Comments ───────────────────────────────────────────────────────────────────

_OBSIDIAN = "%%"
# One of Obsidian is on one line; or its first mark is a line and it ends anywhere; or it begins a
# line and ends in the same paragraph. Other programs use the mark too, so more could hide text.
_START = re.compile(
    r"<!--|(?P<line>(?<!\d)%%[^%`\n]+%%|^ {0,3}\[(?://|comment)\]:[^\n]*$)"
    r"|(?P<block>^%%(?=[ \t\n]))"
    rf"|^ {{0,3}}(?P<fence>{FENCE})[^\n]*$",
    re.MULTILINE,
)
_END_OF_HTML = re.compile(r"(?<=<!--)-?>|--!?>|\Z")


def comments(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where comments begin and end, outside of code: in code every reader sees them."""
    end = start
    unclosed: dict[str, int] = {}  # the shortest fence of each kind that nothing closes any more
    while found := _START.search(text, end):
        if fence := found["fence"]:
            end = found.end("fence")
            if len(fence) < unclosed.get(fence[0], len(text)):
                if close := closing_fence(fence).search(text, found.end()):
                    end = close.end()
                else:  # a fence that is not closed here is none
                    unclosed[fence[0]] = len(fence)
        elif (end := _end_of_comment(found)) > found.end("block"):
            yield found.start(), end


def without_obsidian_comments(text: str, start: int = 0) -> str:
    """Remove what is between two `%%`, from `start` on; lines stay where they are."""
    if text.find(_OBSIDIAN, start) < 0:
        return text
    kept, done = [], 0
    for begins, ends in comments(text, start):
        if text.startswith(_OBSIDIAN, begins):
            # A blank where its neighbours would make a new mark.
            touches = "%" in (text[max(0, begins - 1) : begins], text[ends : ends + 1])
            kept += [text[done:begins], "\n" * text.count("\n", begins, ends) or " " * touches]
            done = ends
    return "".join(kept) + text[done:]


def _end_of_comment(found: re.Match[str]) -> int:
    """Say where the comment ends that begins with a match; where the match ends if it is none."""
    text, start = found.string, found.end()
    if found["line"] is not None:
        return start
    if found["block"] is None:  # the pattern also finds the end of the text
        return next(_END_OF_HTML.finditer(text, start)).end()
    end = text.find(_OBSIDIAN, start)
    is_alone = not rest_of_line(text, start).strip()
    is_in_one_paragraph = text.find("\n\n", start, end) < 0 and text[end - 1] != "`"
    return end + 2 if end >= 0 and (is_alone or is_in_one_paragraph) else start


# ── Lines ──────────────────────────────────────────────────────────────────────


def line_end(text: str, offset: int) -> int:
    """Return where the line of a place ends: before its line feed, or with the text."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def rest_of_line(text: str, start: int) -> str:
    """Return the text from a place to the end of its line."""
    return text[start : line_end(text, start)]


_STEP = 1024  # characters between two places whose line is known


class LineNumbers:
    """The lines of one text, counted from 1; the text is only searched when a line is asked for.

    A list of all line ends would take forty times as much memory as a text of empty lines.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _before(self) -> list[int]:
        """How many line feeds there are before every place."""
        places = range(0, len(self._text), _STEP)
        steps = (self._text.count("\n", place, place + _STEP) for place in places)
        return list(accumulate(steps, initial=0))

    def at(self, offset: int) -> int:
        """Return the line of the character at `offset`; a line feed belongs to its line."""
        step = min(max(0, offset) // _STEP, len(self._before) - 1)
        return self._before[step] + self._text.count("\n", step * _STEP, max(0, offset)) + 1
