"""Frontmatter → the fields that dowse knows, in whatever shape they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import islice

from dowse.parse.dates import read_date
from dowse.parse.frontmatter import Frontmatter, Problem
from dowse.parse.tags import clean_tag, without_repeats
from dowse.types import Fields

_NOTHING = {"", "-", "~", "null"}
_NAMES = ("name", "title", "label")  # where a mapping stands for a text, one of these is meant
_COMMA = re.compile(r"[,;\n]")
_COMMA_OR_SPACE = re.compile(r"[,;\s]+")
_EMAIL = re.compile(r"\s*<[^<>]*>$")
# Aliases let a short YAML text stand for an endless one.
_MOST_VALUES = 2000

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
    """Reads the fields; a date that is none is noted among the frontmatter's problems."""
    return Fields(
        title=_one(front, _TITLE),
        description=_one(front, _DESCRIPTION),
        keywords=without_repeats(_many(front, _KEYWORDS, _at_commas)),
        tags=without_repeats(map(clean_tag, _many(front, _TAGS, _at_commas_and_spaces))),
        aliases=without_repeats(_many(front, _ALIASES, _at_commas)),
        author=without_repeats(_without_email(name) for name in _many(front, _AUTHOR, _at_names)),
        category=_one(front, _CATEGORY),
        created=_date(front, _CREATED),
        modified=_date(front, _MODIFIED),
    )


def texts(value: object) -> list[str]:
    """The texts in a value: lists are opened, a mapping stands for the name in it."""
    found: list[str] = []
    waiting = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            break
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(list(islice(item, _MOST_VALUES))))
        elif isinstance(item, dict):
            waiting.extend([item[key] for key in _NAMES if key in item][:1])
        else:
            found.append(_text(item))
    return [text for text in found if text.lower() not in _NOTHING]


def _text(scalar: object) -> str:
    if scalar is None:
        return ""
    return str(scalar).lower() if isinstance(scalar, bool) else " ".join(str(scalar).split())


def _one(front: Frontmatter, keys: Iterable[str]) -> str:
    return next((text for key in keys for text in texts(front.values.get(key))), "")


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
    return _EMAIL.sub("", name) or name


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
    problem = Problem(front.line_of(key), what)
    if problem not in front.problems:
        front.problems.append(problem)
