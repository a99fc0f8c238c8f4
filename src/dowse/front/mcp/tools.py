"""The tools, as a table: what each is called, says of itself, takes, gives and does."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dowse.front.mcp import outputs
from dowse.front.mcp.outputs import Json
from dowse.front.mcp.parameters import Arguments, Parameter
from dowse.presets import PRESETS
from dowse.retrieve import MODES

if TYPE_CHECKING:
    from dowse.front.mcp.desk import Desk
    from dowse.front.mcp.replies import Reply


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    output: Json  # the schema of what it gives
    works: str  # the module and the function that do it
    alias: bool = False  # another tool's other name: listed briefly

    def run(self, desk: Desk, arguments: Arguments) -> Reply:
        """Does it; the engine is loaded no sooner."""
        module, _, function = self.works.partition(".")
        work = getattr(importlib.import_module(f"dowse.front.mcp.{module}"), function)
        reply: Reply = work(desk, arguments)
        return reply


_PROJECT = Parameter("project", "string", "Which project; needed if unclear.")
_MAX_TOKENS = Parameter("max_tokens", "integer", "Longest reply, in tokens.", low=100, high=100_000)
_TOP_N = Parameter("top_n", "integer", "How many results; 5.", low=1, high=100)
_MIN_CONFIDENCE = Parameter(
    "min_confidence", "number", "Drop lower scores; 0.3 is strict.", low=0, high=1
)
_COMMON_FILTERS = (
    Parameter("tag", "strings", "Has all of these tags."),
    Parameter("path", "strings", "Path begins with one of these."),
    Parameter("after", "string", "Changed since: 2024, 2024-06 or 2024-06-30."),
    Parameter("before", "string", "Changed before."),
)
_FILTERS = (
    *_COMMON_FILTERS,
    Parameter("category", "strings", "Any of these."),
    Parameter("author", "strings", "Any of these."),
    Parameter("source", "strings", "File endings, as md or pdf."),
    Parameter("language", "strings", "Of code in it."),
)

_QUERY = ToolSpec(
    "query_documents",
    "Search documents",
    "Find the passages of the user's documents that answer a query, best first, by meaning and by"
    ' words. Start here. In the query, "quoted words" must follow each other, -word must be absent,'
    " restor* completes a word, and tag:x, title:x, path:x, author:x, category:x must hold.",
    (
        Parameter("query", "string", "A question, some words, or a name from code.", required=True),
        _PROJECT,
        _TOP_N,
        Parameter(
            "mode",
            "string",
            "hybrid unless one way of ranking is wanted; code is for identifiers.",
            choices=tuple(mode.name for mode in MODES if not mode.hypothesis),
        ),
        *_FILTERS,
        _MIN_CONFIDENCE,
        Parameter("parents", "boolean", "Whole sections instead of passages."),
        Parameter("per_doc", "integer", "Most results of one document; 0: any.", low=0),
        Parameter("mmr", "boolean", "Prefer results that differ."),
        Parameter("rerank", "boolean", "Read the first results once more; slower."),
        Parameter("preset", "string", "A named set of settings.", choices=tuple(PRESETS)),
        _MAX_TOKENS,
    ),
    outputs.SEARCH,
    "searching.query_documents",
)
_HYPOTHESIS = ToolSpec(
    "search_with_hypothesis",
    "Search with a made-up answer",
    "Find passages that mean the same as a text you make up: write the answer you expect, in the"
    " words the documents would use. Helps when query_documents finds little.",
    (
        Parameter("hypothesis", "string", "One to five sentences.", required=True),
        _PROJECT,
        _TOP_N,
        *_COMMON_FILTERS,
        _MIN_CONFIDENCE,
        _MAX_TOKENS,
    ),
    outputs.BRIEF_SEARCH,
    "searching.search_with_hypothesis",
)
_GET = ToolSpec(
    "get_document",
    "Read documents",
    "Read documents, sections, passages or lines of them; several at once. A reference is a path,"
    " path:line, path:first-last, the id or uri of a hit, or the end of a path.",
    (
        Parameter(
            "references",
            "strings",
            'For example ["guides/restore.md:12-31"].',
            required=True,
            low=1,
            high=20,
        ),
        _PROJECT,
        _MAX_TOKENS,
    ),
    outputs.PASSAGES,
    "reading.get_document",
)
_RELATED = ToolSpec(
    "related_documents",
    "Related documents",
    "What belongs to a document: links from and to it, its community, what is similar by meaning,"
    " and links that lead nowhere.",
    (
        Parameter("reference", "string", "A path, id or uri of a document.", required=True),
        _PROJECT,
        Parameter("limit", "integer", "Most of each kind; 10.", low=1, high=100),
    ),
    outputs.RELATED,
    "reading.related_documents",
)
_INFO = ToolSpec(
    "project_info",
    "Projects and their state",
    "Which projects there are; of one of them how many documents, which model, whether the index is"
    " up to date or being built, and what is missing and why.",
    (_PROJECT,),
    outputs.INFO,
    "informing.project_info",
)

TOOLS = (_QUERY, _HYPOTHESIS, _GET, _RELATED, _INFO)
"""All tools, in the order they are listed."""

_TOP_K = replace(_TOP_N, name="top_k", means="top_n")
ALIASES = {
    "search": replace(_QUERY, parameters=(*_QUERY.parameters, _TOP_K)),
    "get": _GET,
    "get_project_info": _INFO,
}
"""Names that another system used for the same, for agents that know it."""


def tools(*, compat: bool = False) -> dict[str, ToolSpec]:
    """The tools by name; with `compat`, also under their other names."""
    found = {one.name: one for one in TOOLS}
    return found | (
        {name: _other_name(name, one) for name, one in ALIASES.items()} if compat else {}
    )


def _other_name(name: str, spec: ToolSpec) -> ToolSpec:
    told = f"Another name of {spec.name}, where the parameters are explained."
    output = outputs.briefly(spec.output)
    return replace(spec, name=name, title=name, description=told, output=output, alias=True)
