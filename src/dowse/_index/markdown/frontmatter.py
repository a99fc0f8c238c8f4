"""The head of a file → the fields that dowse knows, all others by name, and related documents.

Every YAML value is read as the text that was written, so that a title of `1.10`, `yes` or
`2024-02-30` stays what it is and no odd value can fail.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import accumulate, islice

import yaml
from msgspec import Struct, field

from dowse._model import Fields, Link
from dowse._text.dates import read_date
from dowse._text.links import (
    WIKILINK,
    Wikilink,
    names_document,
    read_destination,
    read_wikilink,
)
from dowse._text.matching import fold
from dowse._util import limits

_YAML_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
# The first line that says something has no key and opens nothing.
_PROSE = re.compile(r"(?>(?:[ \t]*(?:#[^\n]*)?\n)*)(?![^\n:=]*[:=]|[-{\[?])\S")
_ENTRY = re.compile(r"^(?=[^\s#\-][^\n:]*:(?:\s|$))", re.MULTILINE)
_BRACKET = re.compile(r"[\[\]{}]")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")

# A key of a thousand parts takes tomllib as many copies of the key.
_KEY_PART = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
_DEEP_KEY = re.compile(
    rf"(?<![\w-]){_KEY_PART}(?:[ \t]*+\.[ \t]*+{_KEY_PART}){{{limits.FRONTMATTER_DEPTH}}}"
)
# Marks of YAML that each open a level, one after the other on a line.
_DEEP_LINE = re.compile(rf"^[ ]*+(?:[-?:][ ]++){{{limits.FRONTMATTER_DEPTH}}}", re.MULTILINE)
_TOO_DEEP = (
    "the frontmatter is nested too deep and was ignored; flatten it to have its fields found"
)


def problem_at(line: int, what: str) -> str:
    """Say what could not be read in which line of the file."""
    return f"Line {line}: {what}."


class Frontmatter(Struct):
    """What comes before the body of a file."""

    body: int = 0  # offset of the first line after it
    values: dict[str, object] = field(default_factory=dict)  # by key in lower case
    written: str = ""  # what is between the two marks, which are lines of their own
    problems: list[str] = field(default_factory=list)
    _starts: dict[str, int] = field(default_factory=dict)  # where keys are that were looked for

    def line_of(self, key: str, text: str = "") -> int:
        """Return the line of a key, or of the first `text` after it."""
        if key not in self._starts:
            found = re.search(rf"(?mi)^['\"]?{re.escape(key)}['\"]?\s*+[:=]", self.written)
            self._starts[key] = found.start() if found else 0
        start = self._starts[key]
        return self.written.count("\n", 0, max(self.written.find(text, start), start)) + 2


def read_frontmatter(text: str) -> Frontmatter:
    """Read the frontmatter; where there is none, or it is only text, the body starts at 0."""
    opening = _OPENING.match(text)
    closing = _CLOSING[opening[1]].search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Frontmatter()
    front = Frontmatter(body=closing.end(), written=text[opening.end() : closing.start()])
    is_toml = opening[1] == "+++"
    if _PROSE.match(front.written, 0, limits.FRONTMATTER):
        _keep_as_text(front)
    elif trouble := _too_much(front.written, _DEEP_KEY if is_toml else _DEEP_LINE):
        front.problems.append(problem_at(1, trouble))
    elif is_toml:
        _read_toml(front)
    else:
        _read_yaml(front)
    return front


def _too_much(written: str, deep: re.Pattern[str]) -> str:
    if len(written) > limits.FRONTMATTER:
        return (
            f"the frontmatter has more than {limits.FRONTMATTER:,} characters and was ignored; "
            "shorten it to have its fields found"
        )
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(written))
    is_deep = max(accumulate(steps), default=0) > limits.FRONTMATTER_DEPTH
    return _TOO_DEEP if is_deep or deep.search(written) else ""


def _read_toml(front: Frontmatter) -> None:
    try:
        front.values = {
            _fold_key(key): value for key, value in tomllib.loads(front.written).items()
        }
    except tomllib.TOMLDecodeError as error:
        place, cause = _TOML_PLACE.search(str(error)), _TOML_PLACE.sub("", str(error))
        line = int(place[1]) if place and place[1] else front.written.count("\n")
        what = f"the frontmatter is not valid TOML ({cause}); fix it to have its fields found"
        front.problems.append(problem_at(line + 1, what))
    except RecursionError:
        front.problems.append(problem_at(1, _TOO_DEEP))
    except ValueError:  # a number of thousands of digits
        what = "the frontmatter holds a number that is too long"
        front.problems.append(problem_at(1, f"{what}; shorten it to have its fields found"))


def _read_yaml(front: Frontmatter) -> None:
    try:
        loaded = yaml.load(front.written, _YAML_LOADER)  # noqa: S506 - it makes only text
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        loaded = _entry_by_entry(front.written)
        mark = getattr(error, "problem_mark", None)
        cause = getattr(error, "problem", None) or getattr(error, "reason", "nested too deep")
        what = f"the frontmatter is not valid YAML ({cause}); fix it to have all its fields found"
        front.problems.append(problem_at(mark.line + 2 if mark else 1, what))
    if isinstance(loaded, dict):
        front.values = {_fold_key(str(key)): value for key, value in loaded.items()}
    elif loaded not in (None, ""):
        _keep_as_text(front)


def _keep_as_text(front: Frontmatter) -> None:
    """Keep prose between two rules: were it taken for frontmatter, it could never be found."""
    front.body = 0
    what = "the frontmatter has no keys and was taken for text; write it as `key: value` lines"
    front.problems.append(problem_at(1, what))


def _entry_by_entry(written: str) -> dict[str, object]:
    """Return what can be saved of broken YAML: each key that is at the start of a line, alone."""
    found: dict[str, object] = {}
    for key, value in (entry.split(":", 1) for entry in _ENTRY.split(written) if ":" in entry):
        try:
            loaded = yaml.load(f"v:{value}", _YAML_LOADER)["v"]  # noqa: S506 - it makes only text
        except (yaml.YAMLError, RecursionError, ValueError, TypeError, KeyError):
            loaded = value.strip().partition("\n")[0].strip().strip("\"'")  # `title: One: two`
        found[key] = loaded
    return found


def _fold_key(key: str) -> str:
    return key.strip().strip("\"'").casefold()


# ── The fields that dowse knows ──────────────────────────────────────────────

_NOTHING = {"", "-", "~", "null"}
_NAMES = ("name", "title", "label")  # where a mapping stands for a text, one of these is meant
_COMMA = re.compile(r"[,;\n]")
_COMMA_OR_SPACE = re.compile(r"[,;\s]+")
_EMAIL = re.compile(r"<[^<>]*>\Z")
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()]*)\)")

_KEYS = {
    "title": ("title",),
    "description": ("description", "summary"),
    "category": ("category", "categories", "type"),
    "keywords": ("keywords", "keyword"),
    "tags": ("tags", "tag"),
    "aliases": ("aliases", "alias"),
    "author": ("author", "authors"),
    "created": ("created", "date"),
    "modified": ("modified", "updated", "lastmod", "last_modified", "last-modified", "date"),
}
"""By field: the keys that are looked for, the first with a value counts."""


def read_fields(front: Frontmatter) -> Fields:
    """Read the fields; what is no date, or too much, is noted among the frontmatter's problems."""
    tags = map(clean_tag, _many(front, "tags", _COMMA_OR_SPACE.split))
    authors = (_EMAIL.sub("", name).rstrip() or name for name in _many(front, "author", _at_names))
    return Fields(
        title=_one(front, "title", limits.TITLE),
        description=_one(front, "description", limits.DESCRIPTION),
        keywords=_usable(front, "keywords", _many(front, "keywords", _COMMA.split)),
        tags=_usable(front, "tags", tags, is_usable, limits.TAGS),
        aliases=_usable(front, "aliases", _many(front, "aliases", _COMMA.split)),
        author=_usable(front, "author", authors),
        category=_one(front, "category", limits.ENTRY),
        created=_date(front, "created"),
        modified=_date(front, "modified"),
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


def _one(front: Frontmatter, name: str, most: int) -> str:
    found = next((text for key in _KEYS[name] for text in _texts(front.values.get(key))), "")
    if len(found) > most:
        _note(front, name, f"{name} has more than {most:,} characters; shorten it")
    return found[:most].rstrip()


def _many(front: Frontmatter, name: str, split: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the texts of a list; a single text is taken apart, because a list was expected."""
    for key in _KEYS[name]:
        value = front.values.get(key)
        if found := _texts(value):
            parts = split(value.strip("[] \t\n")) if isinstance(value, str) else found
            bare = (part.strip().strip("\"'").strip() for part in parts)
            return [part for part in bare if part not in _NOTHING]
    return []


def _at_names(written: str) -> list[str]:
    """Split `Given Family, Given Family` into two authors; `Family, Given` is one."""
    parts = _COMMA.split(written)
    return parts if ";" in written or all(" " in part.strip() for part in parts) else [written]


def _usable(
    front: Frontmatter,
    name: str,
    names: Iterable[str],
    usable: Callable[[str], bool] = lambda entry: len(entry) <= limits.ENTRY,
    most: int = limits.ENTRIES,
) -> tuple[str, ...]:
    """Return the entries of a list, each once, without those that are too long, or too many."""
    listed = without_repeats(names)
    kept = tuple(filter(usable, listed))[:most]
    if len(kept) < len(listed):
        _note(
            front,
            name,
            f"{name} has more than {most:,} entries, or one that is too long, which were "
            "ignored; shorten it",
        )
    return kept


def _note(front: Frontmatter, name: str, what: str) -> None:
    """Note a problem with a field, where the first of its keys is."""
    key = next((key for key in _KEYS.get(name, ()) if key in front.values), name)
    problem = problem_at(front.line_of(key), what)
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


def _date(front: Frontmatter, name: str) -> float | None:
    for key in _KEYS[name]:
        value = front.values.get(key)
        # TOML has dates of its own.
        for written in [value] if isinstance(value, date) else _texts(value)[:1]:
            moment = read_date(written)
            if moment is not None:
                return moment
            shown = repr(str(written)[:80])
            _note(
                front, key, f"{key} {shown} is not a date that can be read; write it as 2024-12-31"
            )
    return None


# ── Related documents ────────────────────────────────────────────────────────


def read_related(front: Frontmatter) -> list[Link]:
    """Read the entries of `related`, be they paths, names, wikilinks or Markdown links."""
    value = front.values.get("related")
    return [
        Link("related", link.target, link.anchor, link.label, front.line_of("related", entry))
        for entry in _texts(value)
        for link in _links(entry, alone=isinstance(value, str))
        if names_document(link)
        if max(len(link.target), len(link.anchor), len(link.label)) <= limits.LINK
    ]


def _links(entry: str, alone: bool) -> list[Wikilink]:
    """Return the links in one entry; an entry where a list was expected may hold several."""
    if wikilinks := list(WIKILINK.finditer(entry)):
        return [read_wikilink(match) for match in wikilinks]
    if markdown := list(_MARKDOWN_LINK.finditer(entry)):
        read = ((match[1], read_destination(match[2])) for match in markdown)
        return [Wikilink("wikilink", *found, label) for label, found in read if found]
    # A path or a name; YAML takes the brackets off an unquoted wikilink, so it may be one too.
    bare = (
        WIKILINK.fullmatch(f"[[{written.strip()}]]")
        for written in (entry.strip("[]").split(",") if alone else [entry])
    )
    return [read_wikilink(match) for match in bare if match]
