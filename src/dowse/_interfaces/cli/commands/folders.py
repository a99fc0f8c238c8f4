"""`dowse folders`: the folders of the documents, with counts."""

from __future__ import annotations

import click

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.counted import list_values_of, takes_limit, takes_path
from dowse._interfaces.records import CountedListRecord

_EXAMPLES = """\
\b
Examples:
  dowse folders
  dowse folders --path projects/    only those below a folder
  dowse search --path guides/ backup
"""


@click.command(cls=Command, shape=CountedListRecord, epilog=_EXAMPLES)
@takes_path
@takes_limit()
@pass_call
def command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the folders, with how many documents are below each."""
    list_values_of(call, "path", path, limit, nothing="No document is in a folder.")
