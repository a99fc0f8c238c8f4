"""`dowse tags`: the tags of the documents, with counts."""

from __future__ import annotations

import click

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.counted import list_values_of, takes_limit, takes_path
from dowse._interfaces.records import CountedListRecord

_EXAMPLES = """\
\b
Examples:
  dowse tags                     most frequent first
  dowse tags --path projects/    only those of documents in a folder
  dowse search --tag TAG         what has a tag
"""


@click.command(cls=Command, shape=CountedListRecord, epilog=_EXAMPLES)
@takes_path
@takes_limit()
@pass_call
def command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the tags, with how many documents have each.

    A document with the tag a/b counts for the tag a too, as in a search.
    """
    list_values_of(call, "tag", path, limit, nothing="No document has a tag.")
