"""What each route takes: rows of parameters, and how an address or a JSON document says them.

The description of the API is made from these rows, so that both always say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dowse._config.parameters import Arguments, Malformed, Parameter, checked
from dowse._config.request import Call, option, options_of
from dowse._search.listing import FILTERS, SORTS

PROJECT = Parameter(
    "project",
    "The project; without it, the one that the server was started in. A search without it searches"
    " all projects where none is meant, and with `all` in any case.",
)
REFERENCE = Parameter(
    "reference",
    "A document, or a part of it: `path`, `path:first-last`, or an id.",
    required=True,
)
RELATED = (
    PROJECT,
    REFERENCE,
    Parameter(
        "n",
        "How many of each kind at most.",
        "integer",
        low=1,
        high=1_000,
        default=10,
        older=("limit",),
    ),
)
DOCUMENT = (
    PROJECT,
    REFERENCE,
    Parameter(
        "format",
        "With `html`, also as HTML that can do no harm.",
        "choice",
        choices=("text", "html"),
        default="text",
    ),
    Parameter(
        "whole",
        "The whole document, also when the reference is a part of it.",
        "boolean",
        default=False,
    ),
)
PICTURE = (
    PROJECT,
    REFERENCE,
    Parameter("name", "The picture, as the document writes its path.", required=True, longest=1000),
)
_PART = (
    Parameter("limit", "How many at most.", "integer", low=1, high=10_000, default=100),
    Parameter(
        "offset",
        "How many of the first ones to pass over.",
        "integer",
        low=0,
        high=10_000_000,
        default=0,
    ),
)
COUNTED = (PROJECT, option("path"), *_PART)
DOCUMENTS = (
    PROJECT,
    Parameter(
        "sort",
        "By path, newest first (`modified`), or first what most documents link to (`links`).",
        "choice",
        choices=SORTS,
        default="path",
    ),
    Parameter("since", "Only changed since: 2024-06-30, 2024, yesterday, 7d.", "date"),
    option("path"),
    *_PART,
)
VALUES = (
    PROJECT,
    Parameter("filter", "Which filter.", "choice", choices=FILTERS, required=True),
    option("path"),
    *_PART,
)
FIELDS = (
    *COUNTED,
    Parameter("name", "Only this field."),
    Parameter("values", "Values of each field at most.", "integer", low=0, high=10_000, default=20),
)
_EXPLAIN = Parameter(
    "explain",
    "Say how each result came to its place: `places` and `steps`.",
    "boolean",
    default=True,
)


def searching(call: Call) -> tuple[Parameter, ...]:
    """What a route that searches takes."""
    own = (REFERENCE,) if call == "explain" else (_EXPLAIN,)
    return (PROJECT, *own, *options_of(call))


def from_address(rows: Sequence[Parameter], given: Iterable[tuple[str, str]]) -> Arguments:
    """What the parameters of an address say; raises `Malformed`."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        values.setdefault(name, []).append(value)
    return checked(rows, values, written=True)


def from_json(rows: Sequence[Parameter], body: bytes) -> Arguments:
    """What a JSON document says; raises `Malformed`."""
    try:
        values = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"The body is not JSON: {error}.", "Send one JSON object.") from error
    except RecursionError as error:
        raise Malformed("The body is nested too deeply.", "Send one flat JSON object.") from error
    if not isinstance(values, dict):
        raise Malformed("The body is not a JSON object.", "Send one, as in: {}")
    return checked(rows, values)
