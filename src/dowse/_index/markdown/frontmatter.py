"""The head of a file → what it says, whatever state it is in.

Every YAML value is read as the text that was written, so that a title of `1.10`, `yes` or
`2024-02-30` stays what it is and no odd value can fail; `fields` knows what each should be.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml
from msgspec import Struct, field

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


class Problem(Struct, frozen=True):
    """Something that could not be read, and its line in the file."""

    line: int
    what: str


class Frontmatter(Struct):
    """What comes before the body of a file."""

    body: int = 0  # offset of the first line after it
    values: dict[str, object] = field(default_factory=dict)  # by key in lower case
    written: str = ""  # what is between the two marks, which are lines of their own
    problems: list[Problem] = field(default_factory=list)
    _starts: dict[str, int] = field(default_factory=dict)  # where keys are that were looked for

    def line_of(self, key: str, text: str = "") -> int:
        """Return the line of a key, or of the first `text` after it."""
        start = self._start_of(key)
        place = max(self.written.find(text, start), start)
        return self.written.count("\n", 0, place) + 2

    def _start_of(self, key: str) -> int:
        if key not in self._starts:
            found = re.search(rf"^['\"]?{re.escape(key)}['\"]?\s*+[:=]", self.written, _LINES)
            self._starts[key] = found.start() if found else 0
        return self._starts[key]


_LINES = re.MULTILINE | re.IGNORECASE


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
        front.problems.append(Problem(1, trouble))
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
    depth = 0
    for bracket in _BRACKET.finditer(written):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > limits.FRONTMATTER_DEPTH:
            return _TOO_DEEP
    return _TOO_DEEP if deep.search(written) else ""


def _read_toml(front: Frontmatter) -> None:
    try:
        front.values = _by_key(tomllib.loads(front.written))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place[1]) + 1 if place and place[1] else front.written.count("\n") + 1
        cause = _TOML_PLACE.sub("", str(error))
        what = f"the frontmatter is not valid TOML ({cause}); fix it to have its fields found"
        front.problems.append(Problem(line, what))
    except RecursionError:
        front.problems.append(Problem(1, _TOO_DEEP))
    except ValueError:  # a number of thousands of digits
        what = (
            "the frontmatter holds a number that is too long; shorten it to have its fields found"
        )
        front.problems.append(Problem(1, what))


def _read_yaml(front: Frontmatter) -> None:
    try:
        loaded = yaml.load(front.written, _YAML_LOADER)  # noqa: S506 - it makes only text
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        front.values = _entry_by_entry(front.written)
        mark = getattr(error, "problem_mark", None)
        cause = getattr(error, "problem", None) or getattr(error, "reason", None)
        what = (
            f"the frontmatter is not valid YAML ({cause or 'nested too deep'}); "
            "fix it to have all its fields found"
        )
        front.problems.append(Problem(mark.line + 2 if mark else 1, what))
        return
    if isinstance(loaded, dict):
        front.values = _by_key(loaded)
    elif loaded not in (None, ""):
        _keep_as_text(front)


def _keep_as_text(front: Frontmatter) -> None:
    """Keep prose between two rules: were it taken for frontmatter, it could never be found."""
    front.body = 0
    what = "the frontmatter has no keys and was taken for text; write it as `key: value` lines"
    front.problems.append(Problem(1, what))


def _entry_by_entry(written: str) -> dict[str, object]:
    """Return what can be saved of broken YAML: each key that is at the start of a line, alone."""
    found: dict[str, object] = {}
    for entry in _ENTRY.split(written):
        key, colon, value = entry.partition(":")
        if colon:
            found[_fold_key(key)] = _entry_value(value)
    return found


def _entry_value(written: str) -> object:
    """Return the value as YAML; where it is none, the line itself, as in `title: One: two`."""
    try:
        loaded: object = yaml.load(f"v:{written}", _YAML_LOADER)["v"]  # noqa: S506 - it makes only text
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, KeyError):
        return written.strip().partition("\n")[0].strip().strip("\"'")
    return loaded


def _by_key(loaded: Mapping[Any, object]) -> dict[str, object]:
    return {_fold_key(str(key)): value for key, value in loaded.items()}


def _fold_key(key: str) -> str:
    return key.strip().strip("\"'").casefold()
