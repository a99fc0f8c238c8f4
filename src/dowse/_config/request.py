"""The options of a search: one table and one check, for every interface.

The command line, HTTP, MCP and Python turn their own syntax into names and values, and get a
`SearchRequest` back. A new option is a row of `OPTIONS`: every interface takes it, and `--help`,
the OpenAPI description, the MCP schema, the page and the reference list it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from dowse._config.parameters import Parameter, check_arguments
from dowse._config.presets import PRESETS
from dowse._embed.options import is_folder
from dowse._search.request import Filters, SearchRequest
from dowse._search.strategies import MODES, MODES_EXPLAINED
from dowse.errors import Refused, UsageError

Call = Literal["search", "answer", "explain"]
"""The calls that search."""

LONGEST_QUERY = 20_000
"""Characters of a query."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No changes to the settings."""

_MODEL = "rerank.model"  # the one setting of a search that can name a folder
_FILTERS = frozenset(Filters.__struct_fields__)

OPTIONS: tuple[Parameter, ...] = (
    Parameter(
        "query",
        "A question, some words, or a name from code.",
        required=True,
        unless=_FILTERS,
        longest=LONGEST_QUERY,
        aliases=("q",),
    ),
    Parameter(
        "n",
        "How many results.",
        "integer",
        low=1,
        high=10_000,
        setting="search.top_n",
        aliases=("top_n", "limit", "top_k"),
    ),
    Parameter(
        "offset",
        "Skip this many results.",
        "integer",
        low=0,
        high=10_000,
        calls=("search",),
    ),
    Parameter(
        "mode",
        f"Choose the strategies that rank. {MODES_EXPLAINED}",
        "choice",
        choices=tuple(mode.name for mode in MODES),
        setting="search.mode",
    ),
    Parameter(
        "tag",
        "Filter by tag; all must match, nested tags count.",
        "texts",
        aliases=("tags",),
        example="database",
    ),
    Parameter("path", "Filter by the beginning of the path.", "texts", example="guides/"),
    Parameter(
        "after",
        "Filter by date: changed since 2024-06-30, 2024, yesterday, 7d.",
        "date",
        example="7d",
    ),
    Parameter("before", "Filter by date: changed before this.", "date", example="2025"),
    Parameter(
        "where",
        "Filter by a field of the frontmatter: status=draft, rating>3.",
        "texts",
        example="status=draft",
    ),
    Parameter("category", "Filter by category.", "texts", example="guide"),
    Parameter("author", "Filter by author; a part of the name is enough.", "texts", example="Ada"),
    Parameter("source", "Filter by file extension: md, pdf.", "texts", example="md"),
    Parameter(
        "language",
        "Filter by the language of a code block.",
        "texts",
        aliases=("lang",),
        example="python",
    ),
    Parameter(
        "min_confidence",
        "Drop results below this; 0.3 is strict.",
        "number",
        low=-1,
        high=1,
        setting="threshold.min_confidence",
    ),
    Parameter(
        "passages",
        "List every passage, not one result per document.",
        "boolean",
        setting="documents.passages",
    ),
    Parameter(
        "parents",
        "Return whole sections.",
        "boolean",
        setting="parents.enabled",
    ),
    Parameter(
        "mmr", "Choose results that differ from each other.", "boolean", setting="diversity.mmr"
    ),
    Parameter(
        "per_doc",
        "List passages, at most this many of a document; 0: no limit.",
        "integer",
        low=0,
        high=10_000,
        setting="diversity.max_chunks_per_doc",
        instead_of="diversity.mmr",
    ),
    Parameter(
        "rerank",
        "Rerank the top results (slower).",
        "boolean",
        setting="rerank.enabled",
    ),
    Parameter(
        "preset",
        "A named set of settings.",
        "choice",
        choices=tuple(PRESETS),
        setting="search.preset",
    ),
    Parameter("set", "Any other setting, for this call: fuse.keyword=2.", "assignments"),
    Parameter(
        "max_tokens",
        "Return at most this many tokens: the best texts, the last one cut.",
        "integer",
        low=1,
        high=1_000_000,
        calls=("search", "answer"),
    ),
)
"""Every parameter of a search, an answer or an explanation, in the order of the help."""


@cache
def options_of(call: Call) -> tuple[Parameter, ...]:
    """List the options of one call."""
    return tuple(one for one in OPTIONS if not one.calls or call in one.calls)


def filters_of(call: Call) -> tuple[Parameter, ...]:
    """List the options of a call that are filters."""
    return tuple(one for one in options_of(call) if one.name in _FILTERS)


def option(name: str) -> Parameter:
    """Return the row of this name."""
    return next(one for one in OPTIONS if one.name == name)


def parse_request(
    call: Call,
    given: Mapping[str, Any],
    settings: Mapping[str, Any] = NOTHING,
    *,
    written: bool = False,
) -> SearchRequest:
    """Build a request of the user of this machine; raise `UsageError` with what to do instead.

    `given` has values by the names of options. `settings` are changed for this call alone, by their
    full names. With `written`, every value is a list of texts.
    """
    values = check_arguments(options_of(call), given, written=written)
    return build_request(values, settings, local=True)


def build_request(
    values: Mapping[str, Any], settings: Mapping[str, Any] = NOTHING, *, local: bool = False
) -> SearchRequest:
    """Build a request from checked values, ignoring those that are no options of a search.

    Only a `local` call may name a folder: others must not learn which folders there are.
    """
    chosen: dict[str, Any] = {
        name: tuple(values[name]) if option(name).is_list else values[name]
        for name in _FILTERS & values.keys()
    }
    filters = Filters(**chosen)
    filters.conditions()  # what is no date or field is refused before anything is opened
    changes = {
        one.setting: values[one.name] for one in OPTIONS if one.setting and one.name in values
    }
    if "set" in values or settings:
        from dowse._config.schema import assigned, check_value  # noqa: PLC0415  most calls set none

        named = dict(assigned(text) for text in values.get("set", ())) | dict(settings)
        changes |= {name: check_value(name, value, "arguments") for name, value in named.items()}
    if _MODEL in changes and not local and is_folder(str(changes[_MODEL])):
        raise Refused(
            f"{_MODEL} cannot be a folder in a request to a server.",
            f"Name a model, or set it on the server with: dowse config set {_MODEL} FOLDER",
        )
    for one in OPTIONS:
        if one.instead_of and changes.get(one.setting):
            if changes.get(one.instead_of):
                rival = next(other for other in OPTIONS if other.setting == one.instead_of)
                raise UsageError(
                    f"{rival.name} and {one.name} are two ways to choose results that differ.",
                    "Use one.",
                )
            changes[one.instead_of] = False
    return SearchRequest(
        values.get("query", ""),
        filters,
        changes,
        values.get("max_tokens"),
        values.get("offset", 0),
    )
