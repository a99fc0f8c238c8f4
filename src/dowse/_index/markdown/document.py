"""Read a document from its source text: its blocks, fields, links and tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import PurePosixPath

import tree_sitter_markdown
from msgspec import Struct, field
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from dowse._index.markdown.blocks import (
    MOST_NESTED,
    BlockReader,
    Outline,
    Stretch,
    is_within,
    mask,
    mask_unless_kept,
    one_byte_per_character,
    plain_blocks,
)
from dowse._index.markdown.frontmatter import (
    clean_tag,
    is_usable,
    problem_at,
    read_fields,
    read_frontmatter,
    read_properties,
    read_related,
    without_repeats,
)
from dowse._model import Document, Fields, Heading, LeftOut, Link
from dowse._text.file_names import INDEX_PAGES, is_plain
from dowse._text.links import WIKILINK, names_document, read_destination, read_wikilink
from dowse._text.markdown import (
    LineNumbers,
    plain,
    without_attributes,
    without_closing,
    without_obsidian_comments,
)
from dowse._text.matching import fold
from dowse._util import limits
from dowse._util.process import Deadline


def parse(
    id: str,  # noqa: A002 - the record's own word
    text: str,
    deadline: Deadline | None = None,
) -> Document:
    """Read a document; whatever is wrong with the text, there is one, with its problems noted.

    `text` is decoded, without a byte order mark, its lines ended by a line feed alone. What
    Obsidian hides between two `%%` is no part of the document. Raises `TookTooLong` when the
    deadline passes.
    """
    if is_plain(id):
        fields = Fields(title=_fallback_title(id, ()))
        return Document(id, text, 0, fields, blocks=tuple(plain_blocks(text, 0)))
    deadline = deadline or Deadline()
    front = read_frontmatter(text)
    text = without_obsidian_comments(text, front.body)
    lines = LineNumbers(text)
    outline = BlockReader(text, front.body, lines).read(deadline)
    definitions = read_definitions(text, outline)
    headings = _read_headings(text, outline, definitions, deadline)
    references = read_references(text, outline, definitions, lines, deadline)
    fields = read_fields(front)
    fields = replace(
        fields,
        title=fields.title or _fallback_title(id, headings),
        tags=without_repeats([*fields.tags, *references.tags.values()]),
        properties=read_properties(front),
    )
    if sum(map(len, fields.texts().values())) > limits.FIELD_CHARACTERS:
        outline.cuts["fields"] = 0
    links = (*read_related(front), *references.links)
    cuts = {what: lines.at(offset) for what, offset in outline.cuts.items()} | references.cuts
    too_much = (problem_at(line, _TOO_MUCH[what]) for what, line in cuts.items())
    return Document(
        id=id,
        text=text,
        body=front.body,
        fields=fields,
        headings=headings,
        blocks=tuple(outline.blocks),
        code_blocks=tuple(outline.code_blocks),
        links=links,
        problems=tuple(LeftOut(id, what, whole=False) for what in (*front.problems, *too_much)),
    )


def _fallback_title(document_id: str, headings: Iterable[Heading]) -> str:
    """Return the first H1 that says something, else the name of the file or of its folder."""
    path = PurePosixPath(document_id)
    of_folder = path.parent.name.removeprefix("@") if path.stem.lower() in INDEX_PAGES else ""
    return next(
        (one.text for one in headings if one.level == 1 and one.text), of_folder or path.stem
    )


# ── Headings ─────────────────────────────────────────────────────────────────

_BLANKS = " \t"
_MOST_MARKUP = 5 * limits.HEADING  # characters of a heading that are read: markup takes some


def _read_headings(
    text: str, outline: Outline, definitions: Definitions, deadline: Deadline
) -> tuple[Heading, ...]:
    """Read the headings; of a very long one the beginning, which is noted in the outline."""
    found = []
    for place in outline.headings:
        deadline.check()
        start = text.rfind("\n", 0, place.start) + 1
        level, content = _split(text[place.start : place.end].removesuffix("\n"))
        content = without_attributes(content)
        shown = plain_text(content[:_MOST_MARKUP], definitions)
        if len(shown) > limits.HEADING or len(content) > _MOST_MARKUP:
            outline.cuts.setdefault("heading", start)
            shown = shown[: limits.HEADING - 1].rstrip() + "…"
        found.append(Heading(level, shown, start))
    return tuple(found)


# Patterns with two stretches of blanks in a row take time that grows with the square of a stretch.


def _split(written: str) -> tuple[int, str]:
    """Return the level and the marked-up text of a heading."""
    bare = written.lstrip(_BLANKS)
    marks = len(bare) - len(bare.lstrip("#"))
    if 1 <= marks <= 6 and bare[marks : marks + 1] in ("", *_BLANKS, "\n"):
        return marks, without_closing(bare[marks:])
    content, _, underline = written.rpartition("\n")
    line = underline.strip(_BLANKS + ">")
    if content and line and not line.strip("=-"):
        return (1 if line[0] == "=" else 2), content
    return 6, written


# ── What could not be read ───────────────────────────────────────────────────

_SPLIT = "split the document to have all of them found"

_TOO_MUCH = {
    "nesting": (
        f"quotes or lists are nested {MOST_NESTED} deep, so the line was read as plain text; "
        "flatten it to have it read as Markdown"
    ),
    "fields": (
        f"title, keywords, tags and the like have more than {limits.FIELD_CHARACTERS:,} "
        "characters, of which only the first weigh in each passage; filters use all of them"
    ),
    "brackets": "too many brackets to look for links; break the line to have them found",
    "line": (
        f"the line has more than {limits.WINDOW:,} characters and was read as plain text; "
        "break it to have it read as Markdown"
    ),
    "heading": (
        f"the heading has more than {limits.HEADING} characters, of which only the first weigh "
        "as a heading; shorten it"
    ),
    "headings": f"there are more than {limits.HEADINGS:,} headings, the rest is text; {_SPLIT}",
    "code": (
        f"the code block has more than {limits.CODE:,} characters, of which only the first are "
        "searched as code; split it to have all of it searched so"
    ),
    "code_blocks": (
        f"there are more than {limits.CODE_BLOCKS:,} code blocks, the rest is text; {_SPLIT}"
    ),
    "definitions": (
        f"there are more than {limits.DEFINITIONS:,} link definitions, the rest is ignored; "
        f"{_SPLIT}"
    ),
    "paragraphs": (
        f"after {limits.PARAGRAPHS:,} paragraphs links and tags are no longer looked for; {_SPLIT}"
    ),
    "links": f"there are too many links, the rest is only text; {_SPLIT}",
    "link": (
        f"the link has more than {limits.LINK:,} characters and was ignored; shorten it to have "
        "it followed"
    ),
    "tags": f"there are more than {limits.TAGS:,} tags, the rest is only text; {_SPLIT}",
    "tag": (
        f"the tag has more than {limits.TAG} characters or {limits.TAG_DEPTH} levels and was "
        "ignored; shorten it to have it found"
    ),
}
"""By what was too much."""


# ── Links and tags ──────────────────────────────────────────────────────────────

_LANGUAGE = Language(tree_sitter_markdown.inline_language())

Definitions = Mapping[str, str]
"""Folded label of a link definition → the address it stands for, as written."""


def read_definitions(text: str, outline: Outline) -> Definitions:
    """Read the link definitions of a document; the first of a label counts."""
    return {
        _fold_label(text[label.start + 1 : label.end - 1]): text[address.start : address.end]
        for label, address in reversed(outline.definitions)
    }


def _fold_label(label: str) -> str:
    """Return a label of a link definition as labels are compared: case and spaces do not count."""
    return " ".join(label.split()).casefold()


_SHORTCUT = re.compile(r"(?<![\]\[!\\])\[([^\[\]]++)\](?![\[(])")


def plain_text(markup: str, definitions: Definitions) -> str:
    """Return what a reader sees of a heading or a label, on one line, without its markup."""
    if definitions:
        markup = _SHORTCUT.sub(
            lambda found: found[1] if _fold_label(found[1]) in definitions else found[0], markup
        )
    return " ".join(plain(markup, shortcodes=False).split())


# ── A paragraph, heading or cell → its Markdown links, and what is not prose ──

# The grammar's time can grow with the square of the brackets and backticks it is given. With this
# many the worst text known takes ten milliseconds; what has more is read in parts, cut at the ends
# of lines and links.
_MOST_MARKS = 500
_BETWEEN_PARTS = re.compile(r"\n|(?<=[)\]])[ \t]+")
_MARK = re.compile(r"[\[\]()<>`!]")

_SPECIAL = re.compile(r"[`<\\]|\]\(|\]\[")
_NO_EMPHASIS = bytes.maketrans(b"*_~$", b"xxxx")
_INLINE = re.compile(
    rb"""
      \]\( (?P<address> [^\s()<>"'\\]* ) \)
    | (?P<kept> \\` | < [^>]* > | \]\( [^)]* \) )
    | (?: [^\\<>\[\]()`!] | ! (?!\[) | \\ [^`] )+
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(rb"(?<!\\) \[ ([^\[\]]*) \] (?! [\[(] )", re.VERBOSE)


class Inline(Struct):
    """What was found in one stretch of text; offsets count from its start."""

    links: list[tuple[int, str, str]] = field(default_factory=list)  # offset, label, address
    hidden: list[tuple[int, int]] = field(default_factory=list)  # code, HTML, links; in order
    unread: list[int] = field(default_factory=list)  # starts of parts that were too much to read


def _read_inline(text: str, definitions: Definitions) -> Inline:
    """Read the links of a stretch of text and note what is not prose in it."""
    found = Inline()
    if not _SPECIAL.search(text) and not (definitions and "[" in text):
        return found
    for start, end, marks in _pieces(text):
        if marks > _MOST_MARKS:
            found.unread.append(start)
            found.hidden.append((start, end))
            continue
        part = text[start:end]
        skeleton = inline_skeleton(part, lambda label: _fold_label(label) in definitions)
        for node in Parser(_LANGUAGE).parse(skeleton).root_node.named_children:
            place = start + node.start_byte
            if node.type.endswith("_link"):
                found.links.append((place, *_read_link(part, node, definitions)))
            if node.type != "backslash_escape" and not text.startswith("![[", place):
                found.hidden.append((place, start + node.end_byte))
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and marks of the text's parts: one, unless it has too many marks."""
    start = marks = 0
    if len(text) > _MOST_MARKS:
        for part_start, part_end in pairwise(
            chain([0], (match.end() for match in _BETWEEN_PARTS.finditer(text)), [len(text)])
        ):
            more = sum(1 for _ in _MARK.finditer(text, part_start, part_end))
            if marks + more > _MOST_MARKS and start < part_start:
                yield start, part_start, marks
                start, marks = part_start, 0
            marks += more
    yield start, len(text), marks


def _read_link(text: str, node: Node, definitions: Definitions) -> tuple[str, str]:
    """Return the label of a link, and its address."""
    parts = {part.type: text[part.start_byte : part.end_byte] for part in node.named_children}
    label = parts.get("link_text", "")
    if node.type == "inline_link":
        return label, parts.get("link_destination", "")
    return label, definitions.get(_fold_label(parts.get("link_label", "")[1:-1] or label), "")


def inline_skeleton(text: str, is_label: Callable[[str], bool]) -> bytes:
    """Return the text as the inline grammar needs it to tell links and code from the rest."""
    source = one_byte_per_character(text).translate(_NO_EMPHASIS)
    # What is never closed opens nothing, but the grammar would try again and again.
    for opening, masked, closing in ((b"<", b"x", b">"), (b"](", b"]x", b")")):
        last = source.rfind(closing) + 1
        source = source[:last] + source[last:].replace(opening, masked)

    def mask_inline(match: re.Match[bytes]) -> bytes:
        is_address = match.lastgroup == "address"
        return b"](%s)" % (b"x" * len(match["address"])) if is_address else mask_unless_kept(match)

    def mask_unless_label(match: re.Match[bytes]) -> bytes:
        return match[0] if is_label(text[match.start(1) : match.end(1)]) else mask(match)

    skeleton = _INLINE.sub(mask_inline, source)
    # Brackets without a label of a definition, up to three deep: the grammar takes every pair for a
    # link, and would not see that `[a [b] c](d)` is one.
    for _ in range(3):
        skeleton = _BRACKETS.sub(mask_unless_label, skeleton)
    return skeleton


# ── All of them ──────────────────────────────────────────────────────────────

_QUOTE_MARKS = re.compile(r"(?<=\n)[ \t>]+")
_COMMENT_MARK = re.compile("%%")
# `#tag` and `#nested/tag`, by Obsidian's rules. Everything may belong to a tag but spaces and
# punctuation; "-", "_" and "/" may.
_TAG = re.compile(
    r"""(?<!\S)\#
    ([^\s\x00-\x1f!-,.:-@\[-^`{-\x7f\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f]+)""",
    re.VERBOSE,
)
_SAYS_NOTHING = re.compile(r"[\d/_-]*")


class References(Struct):
    """Links and tags in the order of the text, and what was too much, with the line it is on."""

    links: list[Link] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)  # folded name → as first spelled
    cuts: dict[str, int] = field(default_factory=dict)


def read_references(
    text: str,
    outline: Outline,
    definitions: Definitions,
    lines: LineNumbers,
    deadline: Deadline,
) -> References:
    """Find the links and tags outside code, HTML and comments."""
    found = _Collector(len(text), lines)
    for place in outline.inlines:
        for part in _parts(text, place):
            deadline.check()
            _read_prose(text[part.start : part.end], part, definitions, found)
    return found.end()


def _parts(text: str, place: Stretch) -> Iterator[Stretch]:
    """Yield a stretch of prose, in parts of whole lines or words where it is very long."""
    while place.end - place.start > limits.PROSE:
        most = place.start + limits.PROSE
        end = max(text.rfind(blank, place.start, most) + 1 for blank in ("\n", " ")) or most
        yield place._replace(end=end)
        place = place._replace(start=end)
    yield place


def _read_prose(prose: str, place: Stretch, definitions: Definitions, found: _Collector) -> None:
    may_hold_tags = "#" in prose and _TAG.search(prose) is not None
    may_hold_links = "[" in prose and (not found.is_full or "#" in prose)
    if not (may_hold_links or may_hold_tags or "%%" in prose):
        return
    if place.quoted:
        prose = _QUOTE_MARKS.sub(lambda marks: " " * len(marks[0]), prose)
    inline = _read_inline(prose, definitions)
    marks = (mark.start() for mark in _COMMENT_MARK.finditer(prose))
    items: list[tuple[int, Link | str | None]] = [
        *_links(prose, inline, definitions),
        *(_tags(prose, inline) if may_hold_tags else ()),
        *((mark, None) for mark in marks if not is_within(inline.hidden, mark)),
    ]
    for offset, item in sorted(items, key=itemgetter(0)):
        found.take(place.start + offset, item)
    for offset in inline.unread[:1]:
        found.note("brackets", place.start + offset)


def _links(prose: str, inline: Inline, definitions: Definitions) -> Iterator[tuple[int, Link]]:
    for start, label, address in inline.links:
        if destination := read_destination(address):
            yield start, Link("relative", *destination, plain_text(label, definitions), 0)
    for match in WIKILINK.finditer(prose) if "[[" in prose else ():
        link = read_wikilink(match)
        if names_document(link) and not is_within(inline.hidden, match.start()):
            yield match.start(), Link(link.kind, link.target, link.anchor, link.label, 0)


def _tags(prose: str, inline: Inline) -> Iterator[tuple[int, str]]:
    wikilinks = [match.span() for match in WIKILINK.finditer(prose)]
    for match in _TAG.finditer(prose):
        name, place = clean_tag(match[1]), match.start()
        is_hidden = is_within(inline.hidden, place) or is_within(wikilinks, place)
        if not is_hidden and not _SAYS_NOTHING.fullmatch(name):
            yield place, name


class _Collector:
    """Takes what is found in the order of the text, without what is between two "%%".

    Only what is kept is held: a document can hold millions of links and tags.
    """

    def __init__(self, length: int, lines: LineNumbers) -> None:
        self._lines = lines
        self._most_links = limits.most_links(length)
        self._most_characters = length + limits.LINK_TEXT
        self._links = self._characters = 0  # of the links so far
        self._kept = References()
        self._commented: References | None = None  # since a "%%" that nothing has closed yet

    @property
    def is_full(self) -> bool:
        """Whether no further link is taken."""
        return "links" in self._kept.cuts

    def note(self, what: str, offset: int) -> None:
        """Note that something was too much."""
        self._kept.cuts.setdefault(what, self._lines.at(offset))

    def take(self, offset: int, item: Link | str | None) -> None:
        """Take a link, the name of a tag, or None for a "%%"."""
        current = self._kept if self._commented is None else self._commented
        if item is None:
            self._commented = References() if self._commented is None else None
        elif isinstance(item, Link):
            self._take_link(offset, item, current.links)
        elif (folded := fold(item)) not in current.tags:
            if not is_usable(item):
                self.note("tag", offset)
            elif len(current.tags) >= limits.TAGS:
                self.note("tags", offset)
            else:
                current.tags[folded] = item

    def _take_link(self, offset: int, link: Link, links: list[Link]) -> None:
        size = len(link.target) + len(link.anchor) + len(link.label)
        if len(link.target) > limits.LINK or len(link.anchor) > limits.LINK:
            self.note("link", offset)
        elif self._links >= self._most_links or self._characters + size > self._most_characters:
            self.note("links", offset)
        else:
            self._links += 1
            self._characters += size
            links.append(
                replace(link, label=link.label[: limits.LINK], line=self._lines.at(offset))
            )

    def end(self) -> References:
        """Return what was found; a "%%" that is never closed opens nothing."""
        if left := self._commented:
            self._kept.links.extend(left.links)
            for folded, name in left.tags.items():
                self._kept.tags.setdefault(folded, name)
        return self._kept
