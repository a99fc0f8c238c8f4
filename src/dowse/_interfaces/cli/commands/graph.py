"""`dowse graph`: the link graph, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from dowse._interfaces.cli.call import Call, Command, as_json, pass_call
from dowse._interfaces.cli.draw.dot import as_dot
from dowse._interfaces.cli.draw.text import safe
from dowse._interfaces.records import GraphRecord
from dowse._project.outputs import check_output, write_output
from dowse._text.amounts import counted
from dowse._util.files import real_path
from dowse._util.locations import short_path

_EXAMPLES = """\
\b
Examples:
  dowse graph | jq -r ".edges[] | select(.target == null) | .written"
  dowse graph --format dot | dot -Tsvg > graph.svg
  dowse graph --format dot -o graph.dot
"""


@click.command(cls=Command, shape=GraphRecord, epilog=_EXAMPLES)
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
    help="Write to this file, outside of the folders of all projects.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there already.")
@pass_call
def command(call: Call, form: str | None, output: Path | None, force: bool) -> None:
    """Export the documents and the links between them.

    In DOT, colours tell communities apart, and a link that leads nowhere ends in a dashed node.
    """
    form = call.choose_format(form)
    if output:
        output = check_output(call.workspace, real_path(output), force=force)
    with call.open() as engine:
        graph = engine.graph()
    name = engine.project.name
    shape = GraphRecord.of(graph, name)
    data = as_dot(graph, name).encode() if form == "dot" else as_json(shape)
    if output:
        write_output(call.workspace, output, data, force=force)
        links = counted(len(graph.edges), "link")
        written = f"{counted(len(graph.documents), 'document')} and {links}"
        call.remark(f"{written} written to {short_path(output)}")
    elif call.out.is_terminal:
        call.out.write(safe(data.decode()))
    else:
        call.out.write_bytes(data)
