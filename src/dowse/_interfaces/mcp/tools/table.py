"""The tools, as a table: what each is called, says of itself, takes, gives and does."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.parameters import Arguments, Parameter, object_schema
from dowse._config.request import option, options_of
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.replies import Json, Reply
from dowse._interfaces.mcp.tools.overview import browse, project_info, recent
from dowse._interfaces.mcp.tools.read import get_document, related_documents
from dowse._interfaces.mcp.tools.search import query_documents, search_with_hypothesis


class ToolSpec(Struct, frozen=True):
    """One tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    gives: tuple[str, ...]  # the fields that its structure always has
    run: Callable[[VisibleProjects, Arguments], Reply]
    alias: bool = False  # another tool's other name: listed briefly

    @property
    def input(self) -> Json:
        """The schema of what it takes; another name of a tool leaves out what that explains."""
        described = {
            one.name: one.schema(brief=True)
            | ({} if self.alias or not one.meaning else {"description": one.meaning})
            for one in self.parameters
        }
        return object_schema(self.parameters, described)

    @property
    def output(self) -> Json:
        """The schema of what it gives. Every conversation pays for it, so it is short."""
        return {"type": "object", "required": list(self.gives)}


def _quoting(*fields: str) -> tuple[str, ...]:
    """Name the fields of a structure that quotes documents."""
    return ("project", "about", *fields, "notices")


_PROJECT = Parameter("project", "Which project; needed if unclear.")
_PROJECT_OR_ALL = Parameter("project", "Which project; all if unclear.")
_COMPACT = Parameter("compact", "One line per result, for wide questions.", "boolean")
_OF_A_HYPOTHESIS = ("n", "tag", "path", "after", "before", "min_confidence", "max_tokens")

_SHORTER = {
    "offset": "How many of the first to pass over.",
    "mode": "By words and meaning (hybrid), one of them, names in code, or likeness (hyde).",
}
_OF_A_QUERY = (
    options_of("search")[0],
    _PROJECT_OR_ALL,
    *(
        replace(one, meaning=_SHORTER.get(one.name, one.meaning))
        for one in options_of("search")[1:]
    ),
    _COMPACT,
)

_QUERY = ToolSpec(
    "query_documents",
    "Search documents",
    "Find the passages of the user's documents that answer a query, best first, by meaning and by"
    ' words. Start here. In the query, "quoted words" must follow each other, -word must be absent,'
    " a OR b must hold, restor* completes a word, and tag:x, title:x, path:x, file:x, author:x and"
    " x:y of any frontmatter field x must hold.",
    _OF_A_QUERY,
    _quoting("hits"),
    query_documents,
)
_HYPOTHESIS = ToolSpec(
    "search_with_hypothesis",
    "Search with a made-up answer",
    "Find passages that mean the same as a text you make up: write the answer you expect, in the"
    " words the documents would use. Helps when query_documents finds little.",
    (
        replace(option("query"), name="hypothesis", meaning="One to five sentences.", aliases=()),
        _PROJECT,
        *(replace(option(name), meaning="") for name in _OF_A_HYPOTHESIS),  # explained above
    ),
    _quoting("hits"),
    search_with_hypothesis,
)
_GET = ToolSpec(
    "get_document",
    "Read documents",
    "Read documents, sections, passages or lines of them; several at once. A reference is a path or"
    " the end of one, path:line, path:first-last, a pattern such as guides/*.md, the id or uri of a"
    " hit, a title or alias, or a link as documents write it: [[Note#Heading]], file.md#anchor.",
    (
        Parameter(
            "references",
            'For example ["guides/restore.md:12-31"].',
            "texts",
            required=True,
            low=1,
            high=20,
        ),
        _PROJECT,
        option("max_tokens"),
    ),
    _quoting("passages"),
    get_document,
)
_RELATED = ToolSpec(
    "related_documents",
    "Related documents",
    "What belongs to a document: links from and to it, its community, what is similar by meaning,"
    " and links that lead nowhere.",
    (
        Parameter("reference", "As for get_document.", required=True),
        _PROJECT,
        Parameter(
            "n",
            "Most of each kind; 10.",
            "integer",
            low=1,
            high=1_000,
            default=10,
            aliases=("limit",),
        ),
    ),
    _quoting("document", "links_to", "linked_from", "community", "similar", "dangling"),
    related_documents,
)
_INFO = ToolSpec(
    "project_info",
    "Projects and their state",
    "Which projects there are; of one of them how many documents, which model, whether the index is"
    " up to date or being built, and what is missing and why.",
    (_PROJECT,),
    ("projects", "missing", "notices"),
    project_info,
)

_BROWSE = ToolSpec(
    "browse",
    "Browse folders, tags and fields",
    "What there is to filter by: folders, tags and frontmatter fields with their values, each with"
    " how many documents have it. With path, also the documents there.",
    (
        replace(option("path"), meaning="Only below these folders."),
        _PROJECT,
        replace(option("n"), meaning="Most of each kind; 30.", default=30, setting=""),
    ),
    _quoting("folders", "tags", "fields"),
    browse,
)
_RECENT = ToolSpec(
    "recent",
    "Recent changes",
    "Which documents changed last, newest first.",
    (
        replace(option("after"), name="since", meaning="2024-06-30, yesterday, 7d."),
        replace(option("path"), meaning=""),
        _PROJECT_OR_ALL,
        replace(option("n"), meaning="20.", default=20, setting=""),
    ),
    _quoting("documents", "total"),
    recent,
)

TOOLS = (_QUERY, _HYPOTHESIS, _GET, _RELATED, _BROWSE, _RECENT, _INFO)
"""All tools, in the order they are listed."""

ALIASES = {
    "search": replace(
        _QUERY,
        parameters=tuple(
            replace(one, aliases=(*one.aliases, "top_k")) if one.name == "n" else one
            for one in _QUERY.parameters
        ),
    ),
    "get": _GET,
    "get_project_info": _INFO,
}
"""Names that another system used for the same, for agents that know it."""


def tools(*, compat: bool = False) -> dict[str, ToolSpec]:
    """Return the tools by name; with `compat`, also under their other names."""
    found = {one.name: one for one in TOOLS}
    return found | (
        {name: _other_name(name, one) for name, one in ALIASES.items()} if compat else {}
    )


def _other_name(name: str, spec: ToolSpec) -> ToolSpec:
    told = f"Another name of {spec.name}, where the parameters are explained."
    return replace(spec, name=name, title=name, description=told, alias=True)
