"""Frontmatter → the fields that dowse knows, in whatever shape they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import islice

from dowse._index.markdown.frontmatter import Frontmatter, Problem
from dowse._model import Fields, Link
from dowse._text.dates import read_date
from dowse._text.fold import fold
from dowse._text.links import (
    WIKILINK,
    Wikilink,
    is_media,
    leads_away,
    read_destination,
    read_wikilink,
)
from dowse._util import limits

# ── `#tag` and `#nested/tag`, by Obsidian's rules ─────────────────────────


# Everything may belong to a tag but spaces and punctuation; "-", "_" and "/" may.
_TAG = re.compile(
    r"""(?<!\S)\#
    ([^\s\x00-\x1f!-,.:-@\[-^`{-\x7f\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f]+)""",
    re.VERBOSE,
)
_SAYS_NOTHING = re.compile(r"[\d/_-]*")


def may_hold_tags(text: str) -> bool:
    """A quick look before a close one."""
    return "#" in text and _TAG.search(text) is not None


def find_tags(text: str) -> Iterator[tuple[int, str]]:
    """Offset and name of everything that looks like a tag."""
    for match in _TAG.finditer(text):
        name = clean_tag(match[1])
        if not _SAYS_NOTHING.fullmatch(name):
            yield match.start(), name


def clean_tag(written: str) -> str:
    """A tag's name without "#" and stray slashes."""
    return written.strip().lstrip("#").strip("/").strip()


def is_usable(name: str) -> bool:
    """Whether a tag is short and flat enough: every level above it is kept with it."""
    return len(name) <= limits.TAG and name.count("/") < limits.TAG_DEPTH


def without_repeats(names: Iterable[str]) -> tuple[str, ...]:
    """The names that say something in order, each once whatever its case, as first spelled."""
    first: dict[str, str] = {}
    for name in filter(None, names):
        first.setdefault(fold(name), name)
    return tuple(first.values())


_NOTHING = {"", "-", "~", "null"}
_NAMES = ("name", "title", "label")  # where a mapping stands for a text, one of these is meant
_COMMA = re.compile(r"[,;\n]")
_COMMA_OR_SPACE = re.compile(r"[,;\s]+")
_EMAIL = re.compile(r"<[^<>]*>\Z")

_TITLE = ("title",)
_DESCRIPTION = ("description", "summary")
_CATEGORY = ("category", "categories", "type")
_KEYWORDS = ("keywords", "keyword")
_TAGS = ("tags", "tag")
_ALIASES = ("aliases", "alias")
_AUTHOR = ("author", "authors")
_CREATED = ("created", "date")
_MODIFIED = ("modified", "updated", "lastmod", "last_modified", "last-modified", "date")


def read_fields(front: Frontmatter) -> Fields:
    """Reads the fields; what is no date, or too much, is noted among the frontmatter's problems."""
    tags = map(clean_tag, _many(front, _TAGS, _at_commas_and_spaces))
    authors = (_without_email(name) for name in _many(front, _AUTHOR, _at_names))
    return Fields(
        title=_one(front, _TITLE, limits.TITLE),
        description=_one(front, _DESCRIPTION, limits.DESCRIPTION),
        keywords=_entries(front, _KEYWORDS, _many(front, _KEYWORDS, _at_commas)),
        tags=_usable(front, _TAGS, without_repeats(tags), is_usable, limits.TAGS),
        aliases=_entries(front, _ALIASES, _many(front, _ALIASES, _at_commas)),
        author=_entries(front, _AUTHOR, authors),
        category=_one(front, _CATEGORY, limits.ENTRY),
        created=_date(front, _CREATED),
        modified=_date(front, _MODIFIED),
    )


def _entries(front: Frontmatter, keys: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    return _usable(front, keys, without_repeats(names), _is_short, limits.ENTRIES)


def _is_short(name: str) -> bool:
    return len(name) <= limits.ENTRY


def _usable(
    front: Frontmatter,
    keys: Sequence[str],
    names: Sequence[str],
    usable: Callable[[str], bool],
    most: int,
) -> tuple[str, ...]:
    """The entries of a list, without those that are too long, or too many."""
    kept = tuple(filter(usable, names))[:most]
    if len(kept) < len(names):
        what = (
            f"{keys[0]} has more than {most:,} entries, or one that is too long, which were "
            "ignored; shorten it"
        )
        _note(front, _key_of(front, keys), what)
    return kept


def _key_of(front: Frontmatter, keys: Sequence[str]) -> str:
    return next((key for key in keys if key in front.values), keys[0])


def _note(front: Frontmatter, key: str, what: str) -> None:
    problem = Problem(front.line_of(key), what)
    if problem not in front.problems:
        front.problems.append(problem)


def texts(value: object) -> list[str]:
    """The texts in a value: lists are opened, a mapping stands for the name in it."""
    found: list[str] = []
    waiting = [value]
    for _ in range(limits.VALUES):
        if not waiting:
            break
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(list(islice(item, limits.VALUES))))
        elif isinstance(item, dict):
            waiting.extend([item[key] for key in _NAMES if key in item][:1])
        else:
            found.append(_text(item))
    return [text for text in found if text.lower() not in _NOTHING]


def _text(scalar: object) -> str:
    if scalar is None:
        return ""
    try:
        written = str(scalar)
    except ValueError:  # a number of thousands of digits, which only TOML can hold
        return ""
    return written.lower() if isinstance(scalar, bool) else " ".join(written.split())


def _one(front: Frontmatter, keys: Sequence[str], most: int) -> str:
    found = next((text for key in keys for text in texts(front.values.get(key))), "")
    if len(found) > most:
        _note(
            front, _key_of(front, keys), f"{keys[0]} has more than {most:,} characters; shorten it"
        )
    return found[:most].rstrip()


def _many(
    front: Frontmatter, keys: Iterable[str], split: Callable[[str], Sequence[str]]
) -> list[str]:
    """The texts of a list; a single text is taken apart, because a list was expected."""
    for key in keys:
        value = front.values.get(key)
        if found := texts(value):
            parts = split(value.strip("[] \t\n")) if isinstance(value, str) else found
            return [part for part in map(_bare, parts) if part not in _NOTHING]
    return []


def _bare(written: str) -> str:
    return written.strip().strip("\"'").strip()


def _at_commas(written: str) -> list[str]:
    return _COMMA.split(written)


def _at_commas_and_spaces(written: str) -> list[str]:
    return _COMMA_OR_SPACE.split(written)


def _at_names(written: str) -> list[str]:
    """`Given Family, Given Family` are two authors, `Family, Given` is one."""
    parts = _COMMA.split(written)
    whole_names = all(" " in part.strip() for part in parts)
    return parts if whole_names or ";" in written else [written]


def _without_email(name: str) -> str:
    return _EMAIL.sub("", name).rstrip() or name


def _date(front: Frontmatter, keys: Iterable[str]) -> float | None:
    for key in keys:
        for written in _dates(front.values.get(key)):
            moment = read_date(written)
            if moment is not None:
                return moment
            _note_bad_date(front, key, written)
    return None


def _dates(value: object) -> list[object]:
    """What may be a date in a value; TOML has dates of its own."""
    return [value] if isinstance(value, date) else [*texts(value)[:1]]


def _note_bad_date(front: Frontmatter, key: str, written: object) -> None:
    what = f"{key} {str(written)[:80]!r} is not a date that can be read; write it as 2024-12-31"
    _note(front, key, what)


# ── All of the frontmatter as names and texts, so that any field can be asked for ───


Property = tuple[str, tuple[str, ...]]
"""The name of a field and its values; no values when it is empty."""


def read_properties(front: Frontmatter) -> tuple[Property, ...]:
    """The fields of a frontmatter by name; a field of a mapping is called `outer.inner`."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _flat(front.values, ""):
        if len(found) >= limits.PROPERTIES:
            break
        found.setdefault(name, _values(value))
    return tuple(sorted(found.items()))


def _flat(values: dict[str, object], above: str) -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        name = f"{above}{str(key).strip()}"
        if len(name) > limits.PROPERTY:
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _values(value: object) -> tuple[str, ...]:
    """Its texts, each once: long ones are cut, since nobody asks for a value by all of it."""
    found = (text[: limits.ENTRY].rstrip() for text in texts(value))
    return tuple(dict.fromkeys(found))[: limits.ENTRIES]


# ── The `related` entries of the frontmatter → links ──────────────────────


_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()]*)\)")
_KEY = "related"


def read_related(front: Frontmatter) -> list[Link]:
    """Reads the entries, be they paths, names, wikilinks or Markdown links."""
    value = front.values.get(_KEY)
    return [
        Link("related", link.target, link.anchor, link.label, front.line_of(_KEY, entry))
        for entry in texts(value)
        for link in _links(entry, alone=isinstance(value, str))
        if link.target and not leads_away(link) and not is_media(link.target)
        if max(len(link.target), len(link.anchor), len(link.label)) <= limits.LINK
    ]


def _links(entry: str, alone: bool) -> list[Wikilink]:
    """The links in one entry; an entry where a list was expected may hold several."""
    if wikilinks := list(WIKILINK.finditer(entry)):
        return [read_wikilink(match) for match in wikilinks]
    if markdown := list(_MARKDOWN_LINK.finditer(entry)):
        return [link for match in markdown if (link := _markdown_link(match))]
    entries = entry.strip("[]").split(",") if alone else [entry]
    return [link for written in entries if (link := _bare_link(written))]


def _markdown_link(match: re.Match[str]) -> Wikilink | None:
    destination = read_destination(match[2])
    return Wikilink("wikilink", *destination, match[1]) if destination else None


def _bare_link(written: str) -> Wikilink | None:
    """A path or a name; YAML takes the brackets off an unquoted wikilink, so it may be one too."""
    match = WIKILINK.fullmatch(f"[[{written.strip()}]]")
    return read_wikilink(match) if match else None
