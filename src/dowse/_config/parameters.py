"""One parameter of a call, at any interface: its name, its values, and how a wrong one is refused.

An interface turns its own syntax into names and values, and `check_arguments` checks them. So the
words of a refusal are the same everywhere, and so are the limits that an interface describes.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.former import suggested
from dowse._util.files import shown
from dowse.errors import Malformed

Kind = Literal["text", "texts", "date", "choice", "integer", "number", "boolean", "assignments"]
"""Kinds of values; `texts` and `assignments` are lists, an assignment is `section.name=x`."""

Arguments = Mapping[str, Any]
"""The checked values of a call, by the names of parameters."""

MOST_VALUES = 100
"""The most values of one parameter; more belong into a folder, a tag or a project of their own."""

LONGEST = 1_000
"""Characters of a text, where its row does not say otherwise."""

# Spelled out, since not every reader of a JSON Schema means the same by \s.
_BLANK = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORDS = rf"^[^\x00]*[^{_BLANK}][^\x00]*$"
_ASSIGNMENT = r"^[^=\x00]+=[^\x00]*$"
# What a calendar has: no year 0, no 31st of June, and the 29th of February only in leap years.
_YEAR = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP_YEAR = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_MONTH = r"(0[1-9]|1[0-2])"
_DAY = (
    rf"({_YEAR}-({_MONTH}-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    rf"|{_LEAP_YEAR}-02-29)"
)
_CLOCK = r"T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
_DATE = (
    rf"^({_YEAR}(-{_MONTH})?|{_DAY}({_CLOCK})?|now|today|yesterday"
    r"|tomorrow|(last|past|this|next) (day|week|month|year)|(last|past) hour"
    r"|[0-9]{1,4} ?(hours?|days?|weeks?|months?|h|d|w|mo?)( ago)?"
    r"|([0-9]{1,3}|1[0-9]{3}) ?(years?|y)( ago)?)$"
)

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_READ: Mapping[str, Callable[[str], object]] = {
    "boolean": lambda text: {"true": True, "false": False}.get(text, text),
    "integer": lambda text: int(text) if _WHOLE.fullmatch(text) else text,
    "number": lambda text: float(text) if _NUMBER.fullmatch(text) else text,
}
_WORDED = frozenset({"text", "texts", "date"})


class Parameter(Struct, frozen=True):
    """One parameter of a call."""

    name: str  # at every interface; the command line writes per_doc as --per-doc
    meaning: str  # one sentence
    kind: Kind = "text"
    required: bool = False
    choices: tuple[str, ...] = ()  # of a `choice`
    low: float = 0  # of a number: the least; of a list: how many at least
    high: float = MOST_VALUES  # of a number: the most; of a list: how many at most
    longest: int = LONGEST  # characters of a text
    default: object = None  # None: left out
    aliases: tuple[str, ...] = ()  # names that it has in other tools
    setting: str = ""  # the setting that it changes for one call
    unless: frozenset[str] = frozenset()  # parameters of which one takes the place of it
    instead_of: str = ""  # a setting that is turned off with it, and may not be set with it
    example: str = ""  # of a value, for forms
    calls: tuple[str, ...] = ()  # where it belongs; empty: wherever it is listed

    @property
    def is_list(self) -> bool:
        """Tell whether it may be given several times."""
        return self.kind in {"texts", "assignments"}

    @property
    def must_be(self) -> str:
        """Describe its values, for messages."""
        if self.kind == "choice":
            return f"one of: {', '.join(self.choices)}"
        if self.kind in {"integer", "number"}:
            whole = "a whole number" if self.kind == "integer" else "a number"
            return f"{whole} from {self.low:,g} to {self.high:,g}"
        return {
            "boolean": "true or false",
            "texts": f'a list of {self.low} to {self.high} texts, as ["a", "b"]',
            "assignments": 'a list of settings with their values, as ["fuse.keyword=2"]',
            "date": "a date: 2024, 2024-06-30, yesterday, 7d or last week",
            "text": f"a text of at most {self.longest:,} characters",
        }[self.kind]

    # ── Checking ─────────────────────────────────────────────────────────────

    def read(self, texts: Sequence[str]) -> object:
        """Convert what somebody has written; what cannot be converted stays a text."""
        if self.is_list:
            return list(texts)
        if len(texts) != 1:
            raise Malformed(f"{self.name} is given {len(texts)} times.", "Give it once.")
        return _READ.get(self.kind, str)(texts[0])

    def guess(self, value: object) -> object:
        """Convert what a language model wrote: `"3"` for 3, or one text for a list of one."""
        if self.is_list:
            several = _listed(value) if isinstance(value, str) else value
            return list(map(_worded, several)) if isinstance(several, list) else several
        if isinstance(value, str):
            return _READ.get(self.kind, str)(value.strip() if self.kind in _READ else value)
        return _worded(value) if self.kind in _WORDED else value

    def check(self, value: object) -> object:
        """Return the value, or raise `Malformed` when it is none of its values."""
        if self.kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # to JSON Schema, 3.0 is an integer too
        if isinstance(value, list) and len(value) > self.high:
            raise Malformed(f"{self.name} has {len(value):,} values.", f"Give {self.high} at most.")
        texts = value if isinstance(value, list) else [value]
        are_texts = all(isinstance(one, str) and len(one) <= self.longest for one in texts)
        is_number = isinstance(value, int | float) and self.low <= value <= self.high
        fits = {
            "boolean": isinstance(value, bool),
            "choice": value in self.choices,
            "integer": is_number and isinstance(value, int) and not isinstance(value, bool),
            "number": is_number and not isinstance(value, bool),
        }.get(self.kind, are_texts and len(texts) >= self.low)
        is_list = self.kind in {"texts", "assignments"}
        if not fits or isinstance(value, list) != is_list:
            raise Malformed(f"{self.name} cannot be {shown(value)}.", f"It must be {self.must_be}.")
        if any("\0" in str(one) for one in texts):
            raise Malformed(f"{self.name} has a NUL character.", "Remove it.")
        if self.kind in _WORDED and not all(re.search(_WORDS, str(one)) for one in texts):
            if self.required:
                raise Malformed(f"The {self.name} is empty.", self.meaning)
            raise Malformed(f"{self.name} names nothing.", "Leave it out, or give it a value.")
        # JSON and odd bytes can name halves of characters.
        whole = [
            one.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
            if isinstance(one, str)
            else one
            for one in texts
        ]
        return whole if is_list else whole[0]

    # ── Describing ───────────────────────────────────────────────────────────

    def schema(self, *, brief: bool = False) -> dict[str, Any]:
        """Return its JSON Schema, of one type; `brief` leaves out limits, which a refusal names."""
        pattern = {"date": _DATE, "assignments": _ASSIGNMENT}.get(self.kind, _WORDS)
        length = {"pattern": pattern, "maxLength": self.longest}
        text = {"type": "string"} | ({} if brief else length)
        if self.is_list:
            limits = {"minItems": self.low, "maxItems": self.high}
            return {"type": "array", "items": text} | ({} if brief else limits)
        limits = {"minimum": self.low, "maximum": self.high}
        number = {"type": self.kind} | ({} if brief else limits)
        others: dict[str, dict[str, Any]] = {
            "boolean": {"type": "boolean"},
            "choice": {"type": "string", "enum": list(self.choices)},
            "integer": number,
            "number": number,
        }
        return others.get(self.kind, text)


def _listed(text: str) -> list[object]:
    """Read a list that is written as JSON; any other text becomes a list of one."""
    if text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, list):
                return found
    return [text]


def _worded(value: object) -> object:
    """Turn a number into a text, where texts are meant: a year, or a tag of digits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


NAMES_FOR_MODELS = {"n": "top_n"}
"""How schemas name parameters: models know these names from other tools."""


def check_arguments(
    rows: Iterable[Parameter],
    given: Mapping[str, Any],
    *,
    written: bool = False,
    guessed: bool = False,
) -> Arguments:
    """Check a call; return values by the names of the rows, or raise `Malformed` with advice.

    With `written`, every value is a list of texts, as in an address or on a command line. With
    `guessed`, a model wrote the values, which may be of a similar type.
    """
    rows = tuple(rows)
    known = {name: row for row in rows for name in (row.name, *row.aliases)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        row = known.get(name)
        if row is None:
            names = [
                NAMES_FOR_MODELS.get(row.name, row.name) if guessed else row.name for row in rows
            ]
            near = difflib.get_close_matches(name[:100], names, n=1)
            meant = suggested("parameter", name) or (f"Did you mean {near[0]}?" if near else "")
            listed = f"Known: {', '.join(names)}." if names else "It takes none."
            raise Malformed(f"There is no parameter {shown(name)}.", f"{meant} {listed}".lstrip())
        if row.name in values:
            other = name if name != row.name else next(one for one in given if one in row.aliases)
            raise Malformed(f"{other} is another name of {row.name}.", "Use one.")
        named, read = replace(row, name=name), value  # a refusal uses the name that the call used
        if written or guessed:
            read = named.read(value) if written else named.guess(value)
        if not (row.unless & given.keys() and isinstance(read, str) and not read.strip()):
            values[row.name] = named.check(read)
    for row in rows:
        if row.required and row.name not in values and not row.unless & values.keys():
            raise Malformed(f"The {row.name} is missing.", row.meaning)
    return {row.name: row.default for row in rows if row.default is not None} | values


def object_schema(rows: Iterable[Parameter], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of all parameters of a call together."""
    required = [one.name for one in rows if one.required]
    return {
        "type": "object",
        "properties": dict(schemas),
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
