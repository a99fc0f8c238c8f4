"""`dowse reset`: empty the index."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.consent import require_yes
from dowse._interfaces.cli.draw.text import line


class ResetRecord(Struct, frozen=True):
    """What `dowse reset` did."""

    project: Annotated[str, "Name of the project whose index is empty now."]


@click.command(
    cls=Command,
    shape=ResetRecord,
    epilog="\b\nExamples:\n  dowse reset\n  dowse reset -p work --yes",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_call
def command(call: Call, yes: bool) -> None:
    """Empty the index; documents stay as they are.

    Vectors that are known already are kept, so that indexing again is quick. To forget a project
    with everything that dowse keeps of it: dowse project remove NAME.
    """
    with call.open() as engine:
        name = engine.project.name
        require_yes(call, f"Empty the index of {name}?", yes=yes)
        engine.reset()
    call.answer(
        ResetRecord(name),
        lambda _: [
            line(f"The index of {name} is empty. Fill it with: dowse index -p {quote(name)}")
        ],
    )
