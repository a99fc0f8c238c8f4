"""The link graph in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from dowse._interfaces.cli.draw.text import safe
from dowse._search.related import LinkGraph

_COLOURS = 12  # of the scheme set312
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": " ", "\t": " "})


def as_dot(graph: LinkGraph, name: str) -> str:
    """The graph, coloured by community; a link that leads nowhere ends in a dashed node."""
    return "\n".join(_lines(graph, name)) + "\n"


def _lines(graph: LinkGraph, name: str) -> Iterator[str]:
    yield f"digraph {_quoted(name)} {{"
    yield "  graph [overlap=false];"
    yield '  node [shape=box, style="rounded,filled", colorscheme=set312, fillcolor=white];'
    for document in graph.documents:
        community = graph.communities.get(document.id)
        colour = "" if community is None else f", fillcolor={community % _COLOURS + 1}"
        yield f"  {_quoted(document.id)} [label={_quoted(document.fields.title)}{colour}];"
    for target in sorted({edge.link.target for edge in graph.edges if edge.target is None}):
        yield f"  {_missing(target)} [label={_quoted(target)}, style=dashed];"
    for edge in graph.edges:
        end = _missing(edge.link.target) if edge.target is None else _quoted(edge.target)
        kept = [f"label={_quoted(edge.link.label)}"] if edge.link.label else []
        kept += ["style=dotted"] if edge.target is None else []
        written = f" [{', '.join(kept)}]" if kept else ""
        yield f"  {_quoted(edge.source)} -> {end}{written};"
    yield "}"


def _missing(target: str) -> str:
    """The node of a document that does not exist: no id of one that does begins with a slash."""
    return _quoted(f"/{target}")


def _quoted(text: str) -> str:
    return f'"{safe(text.translate(_ESCAPES))}"'
