"""`dowse version`: which version this is."""

from __future__ import annotations

from typing import Annotated

import click
from msgspec import Struct

from dowse import __version__
from dowse._interfaces.cli.call import Call, Command, pass_call


class VersionRecord(Struct, frozen=True):
    """What `dowse version` says."""

    version: Annotated[str, "Of dowse."]


@click.command(cls=Command, shape=VersionRecord)
@pass_call
def command(call: Call) -> None:
    """Show the version of dowse."""
    if call.json:
        call.write_json(VersionRecord(__version__))
    else:
        call.out.write(f"dowse {__version__}\n")
