"""`dowse graph`: the link graph, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from dowse.engine import Engine
from dowse.errors import Refused
from dowse.front.cli.call import Call, Command, as_json, pass_call, real_path
from dowse.front.cli.dot import as_dot
from dowse.front.cli.lines import counted, safe, short_path
from dowse.front.cli.link_shapes import GraphShape

_EXAMPLES = """\
\b
Examples:
  dowse graph | jq -r ".edges[] | select(.target == null) | .written"
  dowse graph --format dot | dot -Tsvg > graph.svg
  dowse graph --format dot -o graph.dot
"""


@click.command(cls=Command, shape=GraphShape, epilog=_EXAMPLES)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "dot"]),
    help="JSON, which is the default, or the language of Graphviz.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file.",
)
@pass_call
def command(call: Call, form: str | None, output: Path | None) -> None:
    """Export the documents and the links between them.

    In DOT, colours tell communities apart, and a link that leads nowhere ends in a dashed node.
    """
    form = call.choose_format(form)
    with call.open() as engine:
        graph = engine.graph()
        if output:
            _check_is_no_document(output, engine)
    name = engine.project.name
    shape = GraphShape.of(graph, name)
    data = as_dot(graph, name).encode() if form == "dot" else as_json(shape)
    if output:
        real_path(output).write_bytes(data)
        links = counted(len(graph.edges), "link")
        written = f"{counted(len(graph.documents), 'document')} and {links}"
        call.remark(f"{written} written to {short_path(output)}")
    elif call.out.is_terminal:
        call.out.write(safe(data.decode()))
    else:
        call.out.write_bytes(data)


def _check_is_no_document(output: Path, engine: Engine) -> None:
    wanted = real_path(output)
    if any(engine.path_of(one.id) == wanted for one in engine.documents()):
        raise Refused(f"{output} is a document of the project.", "Name another file.")
