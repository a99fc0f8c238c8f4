"""Frontmatter → the fields that dowse knows, all others by name, and related documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import islice

from dowse._index.markdown.frontmatter import Frontmatter, Problem
from dowse._model import Fields, Link
from dowse._text.dates import read_date
from dowse._text.links import (
    WIKILINK,
    Wikilink,
    is_media,
    leads_away,
    read_destination,
    read_wikilink,
)
from dowse._text.matching import fold
from dowse._util import limits

_NOTHING = {"", "-", "~", "null"}
_NAMES = ("name", "title", "label")  # where a mapping stands for a text, one of these is meant
_COMMA = re.compile(r"[,;\n]")
_COMMA_OR_SPACE = re.compile(r"[,;\s]+")
_EMAIL = re.compile(r"<[^<>]*>\Z")
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()]*)\)")

_TITLE = ("title",)
_DESCRIPTION = ("description", "summary")
_CATEGORY = ("category", "categories", "type")
_KEYWORDS = ("keywords", "keyword")
_TAGS = ("tags", "tag")
_ALIASES = ("aliases", "alias")
_AUTHOR = ("author", "authors")
_CREATED = ("created", "date")
_MODIFIED = ("modified", "updated", "lastmod", "last_modified", "last-modified", "date")
_RELATED = "related"


def read_fields(front: Frontmatter) -> Fields:
    """Read the fields; what is no date, or too much, is noted among the frontmatter's problems."""
    tags = map(clean_tag, _many(front, _TAGS, _COMMA_OR_SPACE.split))
    authors = (_EMAIL.sub("", name).rstrip() or name for name in _many(front, _AUTHOR, _at_names))
    return Fields(
        title=_one(front, _TITLE, limits.TITLE),
        description=_one(front, _DESCRIPTION, limits.DESCRIPTION),
        keywords=_entries(front, _KEYWORDS, _many(front, _KEYWORDS, _COMMA.split)),
        tags=_usable(front, _TAGS, without_repeats(tags), is_usable, limits.TAGS),
        aliases=_entries(front, _ALIASES, _many(front, _ALIASES, _COMMA.split)),
        author=_entries(front, _AUTHOR, authors),
        category=_one(front, _CATEGORY, limits.ENTRY),
        created=_date(front, _CREATED),
        modified=_date(front, _MODIFIED),
    )


def read_properties(front: Frontmatter) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return all fields by name with their texts; one of a mapping is called `outer.inner`."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _flat(front.values, ""):
        if len(found) >= limits.PROPERTIES:
            break
        # Long texts are cut, since nobody asks for a value by all of it.
        short = dict.fromkeys(text[: limits.ENTRY].rstrip() for text in _texts(value))
        found.setdefault(name, tuple(short)[: limits.ENTRIES])
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


# ── Texts ────────────────────────────────────────────────────────────────────


def _texts(value: object) -> list[str]:
    """Return the texts in a value: lists are opened, a mapping stands for the name in it."""
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
    found = next((text for key in keys for text in _texts(front.values.get(key))), "")
    if len(found) > most:
        _note(front, keys, f"{keys[0]} has more than {most:,} characters; shorten it")
    return found[:most].rstrip()


def _many(
    front: Frontmatter, keys: Iterable[str], split: Callable[[str], Sequence[str]]
) -> list[str]:
    """Return the texts of a list; a single text is taken apart, because a list was expected."""
    for key in keys:
        value = front.values.get(key)
        if found := _texts(value):
            parts = split(value.strip("[] \t\n")) if isinstance(value, str) else found
            bare = (part.strip().strip("\"'").strip() for part in parts)
            return [part for part in bare if part not in _NOTHING]
    return []


def _at_names(written: str) -> list[str]:
    """Split `Given Family, Given Family` into two authors; `Family, Given` is one."""
    parts = _COMMA.split(written)
    whole_names = all(" " in part.strip() for part in parts)
    return parts if whole_names or ";" in written else [written]


def _entries(front: Frontmatter, keys: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    def is_short(name: str) -> bool:
        return len(name) <= limits.ENTRY

    return _usable(front, keys, without_repeats(names), is_short, limits.ENTRIES)


def _usable(
    front: Frontmatter,
    keys: Sequence[str],
    names: Sequence[str],
    usable: Callable[[str], bool],
    most: int,
) -> tuple[str, ...]:
    """Return the entries of a list, without those that are too long, or too many."""
    kept = tuple(filter(usable, names))[:most]
    if len(kept) < len(names):
        what = (
            f"{keys[0]} has more than {most:,} entries, or one that is too long, which were "
            "ignored; shorten it"
        )
        _note(front, keys, what)
    return kept


def _note(front: Frontmatter, keys: Sequence[str], what: str) -> None:
    """Note a problem with the field that has the first of these keys."""
    key = next((key for key in keys if key in front.values), keys[0])
    problem = Problem(front.line_of(key), what)
    if problem not in front.problems:
        front.problems.append(problem)


def clean_tag(written: str) -> str:
    """Return a tag's name without "#" and stray slashes."""
    return written.strip().lstrip("#").strip("/").strip()


def is_usable(name: str) -> bool:
    """Say whether a tag is short and flat enough: every level above it is kept with it."""
    return len(name) <= limits.TAG and name.count("/") < limits.TAG_DEPTH


def without_repeats(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that say something, each once whatever its case, as first spelled."""
    first: dict[str, str] = {}
    for name in filter(None, names):
        first.setdefault(fold(name), name)
    return tuple(first.values())


# ── Dates ────────────────────────────────────────────────────────────────────


def _date(front: Frontmatter, keys: Iterable[str]) -> float | None:
    for key in keys:
        value = front.values.get(key)
        # TOML has dates of its own.
        for written in [value] if isinstance(value, date) else _texts(value)[:1]:
            moment = read_date(written)
            if moment is not None:
                return moment
            shown = repr(str(written)[:80])
            what = f"{key} {shown} is not a date that can be read; write it as 2024-12-31"
            _note(front, [key], what)
    return None


# ── Related documents ────────────────────────────────────────────────────────


def read_related(front: Frontmatter) -> list[Link]:
    """Read the entries of `related`, be they paths, names, wikilinks or Markdown links."""
    value = front.values.get(_RELATED)
    return [
        Link("related", link.target, link.anchor, link.label, front.line_of(_RELATED, entry))
        for entry in _texts(value)
        for link in _links(entry, alone=isinstance(value, str))
        if link.target and not leads_away(link) and not is_media(link.target)
        if max(len(link.target), len(link.anchor), len(link.label)) <= limits.LINK
    ]


def _links(entry: str, alone: bool) -> list[Wikilink]:
    """Return the links in one entry; an entry where a list was expected may hold several."""
    if wikilinks := list(WIKILINK.finditer(entry)):
        return [read_wikilink(match) for match in wikilinks]
    if markdown := list(_MARKDOWN_LINK.finditer(entry)):
        read = ((match[1], read_destination(match[2])) for match in markdown)
        return [Wikilink("wikilink", *found, label) for label, found in read if found]
    entries = entry.strip("[]").split(",") if alone else [entry]
    # A path or a name; YAML takes the brackets off an unquoted wikilink, so it may be one too.
    bare = (WIKILINK.fullmatch(f"[[{written.strip()}]]") for written in entries)
    return [read_wikilink(match) for match in bare if match]
