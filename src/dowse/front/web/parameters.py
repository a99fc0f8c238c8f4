"""What a request may say: one record per route, read from an address or from JSON.

The description of the API is made from these records, so that both always say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dowse.errors import UsageError
from dowse.presets import PRESETS
from dowse.retrieve import MOST_VALUES, Filters, Mode, modes_explained
from dowse.settings import SHORT_NAMES, find_setting, parse_text

Record = TypeVar("Record", bound=Struct)

# Spelled out, since not all who read the description mean the same by \s.
_WORDS = r"^[^\x00]*[^\x00-\x20\x7f-\xa0][^\x00]*$"
_DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)?)?$"
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")

Text = Annotated[str, Meta(min_length=1, max_length=500, pattern=_WORDS)]
Date = Annotated[str, Meta(pattern=_DATE, max_length=19)]
if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal[tuple(PRESETS)]

_Project = Annotated[
    Text, Meta(description="The project; without it, the one that the server was started in.")
]
_Reference = Annotated[
    Text,
    Meta(description="A document, or a part of it: `path`, `path:first-last`, or an id."),
]


class Malformed(UsageError):
    """A request says something that no call could mean."""


class ProjectParameters(Struct, frozen=True, kw_only=True):
    """What every route about a project takes."""

    project: _Project | UnsetType = UNSET


class SearchParameters(ProjectParameters, frozen=True, kw_only=True):
    """What is asked, and how."""

    q: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            pattern=_WORDS,
            description="The query, as `dowse search` takes it.",
        ),
    ]
    n: Annotated[int, Meta(ge=1, le=200, description="How many results.")] | UnsetType = UNSET
    mode: (
        Annotated[Mode, Meta(description=f"Which strategies rank. {modes_explained()}")] | UnsetType
    ) = UNSET
    preset: Annotated[PresetName, Meta(description="A named set of settings.")] | UnsetType = UNSET
    category: Annotated[
        tuple[Text, ...], Meta(max_length=MOST_VALUES, description="One of these categories.")
    ] = ()
    author: Annotated[
        tuple[Text, ...],
        Meta(max_length=MOST_VALUES, description="By one of these, or a part of the name."),
    ] = ()
    tag: Annotated[
        tuple[Text, ...],
        Meta(max_length=MOST_VALUES, description="With all of these tags, or ones below them."),
    ] = ()
    path: Annotated[
        tuple[Text, ...],
        Meta(max_length=MOST_VALUES, description="Documents whose id begins with one of these."),
    ] = ()
    source: Annotated[
        tuple[Text, ...], Meta(max_length=MOST_VALUES, description="Endings of files: md, pdf.")
    ] = ()
    language: Annotated[
        tuple[Text, ...], Meta(max_length=MOST_VALUES, description="With code in one of these.")
    ] = ()
    after: (
        Annotated[Date, Meta(description="Changed then or later: 2024, 2024-06, 2024-06-30.")]
        | UnsetType
    ) = UNSET
    before: Annotated[Date, Meta(description="Changed before.")] | UnsetType = UNSET
    min_confidence: (
        Annotated[float, Meta(ge=0, le=1, description="Drop results below.")] | UnsetType
    ) = UNSET
    parents: (
        Annotated[bool, Meta(description="Whole sections instead of passages.")] | UnsetType
    ) = UNSET
    mmr: Annotated[bool, Meta(description="Choose results that differ.")] | UnsetType = UNSET
    per_doc: (
        Annotated[
            int, Meta(ge=0, le=200, description="Results of one document at most; 0 is no limit.")
        ]
        | UnsetType
    ) = UNSET
    rerank: Annotated[bool, Meta(description="Read the first results once more.")] | UnsetType = (
        UNSET
    )
    explain: Annotated[
        bool, Meta(description="Tell how each result came to its place: `places` and `steps`.")
    ] = True
    max_tokens: (
        Annotated[int, Meta(ge=1, le=1_000_000, description="A budget for the texts of the hits.")]
        | UnsetType
    ) = UNSET
    set: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[a-z_]+\.[a-z_]+=[^\x00]*$", max_length=500)], ...],
        Meta(
            max_length=MOST_VALUES,
            description="Any setting of a search, for this once: `search.top_k=30`.",
        ),
    ] = ()

    @property
    def filters(self) -> Filters:
        """What must hold of every result."""
        return Filters(
            category=self.category,
            author=self.author,
            tag=self.tag,
            path=self.path,
            source=self.source,
            language=self.language,
            after=self.after or "",
            before=self.before or "",
        )

    @property
    def changes(self) -> Mapping[str, Any]:
        """The settings that hold for this search alone, by their full names."""
        named = {
            full: getattr(self, name) for name, full in SHORT_NAMES.items() if hasattr(self, name)
        }
        chosen = {full: value for full, value in named.items() if value is not UNSET}
        if chosen.get("diversity.max_chunks_per_doc"):
            chosen.setdefault("diversity.mmr", False)  # it would take the place of the limit
        return chosen | dict(_assigned(text) for text in self.set)


class ExplainParameters(SearchParameters, frozen=True, kw_only=True):
    """A search, and the document whose place in it is to be explained."""

    reference: _Reference


class RelatedParameters(ProjectParameters, frozen=True, kw_only=True):
    """A document whose relatives are wanted."""

    reference: _Reference
    n: Annotated[int, Meta(ge=1, le=200, description="How many of each kind at most.")] = 10


class DocumentParameters(ProjectParameters, frozen=True, kw_only=True):
    """A document, or a part of it."""

    reference: _Reference
    format: Annotated[
        Literal["text", "html"], Meta(description="With `html`, also as HTML that can do no harm.")
    ] = "text"
    whole: Annotated[
        bool, Meta(description="The whole document, also when the reference is a part of it.")
    ] = False


class NoParameters(Struct, frozen=True, kw_only=True):
    """Nothing."""


def _assigned(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    return name, parse_text(find_setting(name), value.strip())


def from_address(kind: type[Record], given: Iterable[tuple[str, str]]) -> Record:
    """The record that the parameters of an address say; raises `Malformed`."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        values.setdefault(name, []).append(value)
    _check_names(kind, values)
    types = _types(kind)
    return _converted(kind, {name: _read(name, types[name], all_) for name, all_ in values.items()})


def from_json(kind: type[Record], body: bytes) -> Record:
    """The record that a JSON document says; raises `Malformed`."""
    try:
        values = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"The body is not JSON: {error}.", "Send one JSON object.") from error
    except RecursionError as error:
        raise Malformed("The body is nested too deeply.", "Send one flat JSON object.") from error
    if not isinstance(values, dict):
        raise Malformed("The body is not a JSON object.", "Send one, as in: {}")
    _check_names(kind, values)
    types = _types(kind)
    return _converted(kind, {name: _whole(types[name], one) for name, one in values.items()})


def _whole(kind: Any, value: object) -> object:
    """The value; to JSON Schema a number such as 3.0 is an integer too."""
    is_whole = kind is int and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value  # type: ignore[call-overload]  # it is a float


def _check_names(kind: type[Struct], given: Iterable[str]) -> None:
    unknown = [name for name in given if name not in kind.__struct_fields__]
    if unknown:
        known = ", ".join(kind.__struct_fields__) or "none"
        named = ", ".join(repr(name[:80]) for name in unknown[:5])
        raise Malformed(f"There is no parameter {named}.", f"Known parameters: {known}.")


def _converted(kind: type[Record], values: Mapping[str, Any]) -> Record:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise Malformed(f"{error}.", "See: /api/v1/openapi.json") from error


@cache
def _types(kind: type[Struct]) -> dict[str, Any]:
    """What each field holds when it is there at all."""
    hints = get_type_hints(kind)
    return {name: _held(hints[name]) for name in kind.__struct_fields__}


def _held(hint: Any) -> Any:
    choices = [one for one in get_args(hint) if one is not UnsetType]
    return choices[0] if UnsetType in get_args(hint) else hint


def _read(name: str, kind: Any, values: Sequence[str]) -> object:
    if get_origin(kind) is tuple:
        return list(values)
    if len(values) > 1:
        raise Malformed(f"{name} is given {len(values)} times.", "Give it once.")
    text = values[0]
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    if kind is int and _WHOLE.fullmatch(text):
        return int(text)
    if kind is float and _NUMBER.fullmatch(text):
        return float(text)
    return text
