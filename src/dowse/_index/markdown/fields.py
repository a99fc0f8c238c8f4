"""Frontmatter → the fields that dowse knows, in whatever shape they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import islice

from dowse._index.markdown.frontmatter import Frontmatter, Problem
from dowse._index.markdown.tags import clean_tag, is_usable, without_repeats
from dowse._model import Fields
from dowse._text.dates import read_date
from dowse._util import limits

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
