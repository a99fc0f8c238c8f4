"""`dowse get`: a document, or some lines of it."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.complete import document_ids
from dowse._interfaces.cli.draw.text import line, safe
from dowse._interfaces.records import PassageRecord, PassagesRecord
from dowse._search.references import Passage

_EXAMPLES = """\
\b
Examples:
  dowse get guides/restore.md           all of it
  dowse get restore:12                  from line 12; a part of the path is enough
  dowse get restore:12:20 Home          20 lines from line 12, and another document
  dowse get guides/restore.md:12-20      lines 12 to 20, as results name them
  dowse get 3fa9c2d1                    by the id that search and ls --long show
"""


@click.command(cls=Command, shape=PassagesRecord, epilog=_EXAMPLES)
@click.argument(
    "references",
    nargs=-1,
    required=True,
    metavar="DOC[:LINE[:COUNT|-LAST]]...",
    shell_complete=document_ids,
)
@click.option("--lines", "numbered", is_flag=True, help="Number the lines.")
@pass_call
def command(call: Call, references: tuple[str, ...], numbered: bool) -> None:
    """Show a document, or some lines of it.

    DOC is a path as `dowse ls` lists it, the end of one, a path from the current folder, or an id
    that `dowse search` shows. The text is the one in the index; piped, it is printed as it is.
    """
    with call.ask(call.open) as engine, engine.hold():
        passages = [engine.get(reference, here=call.here) for reference in references]
        if call.json:
            shapes = tuple(PassageRecord.of(passage, engine) for passage in passages)
            call.write_json(PassagesRecord(engine.project.name, shapes))
            return
    for passage in passages:
        if call.out.is_terminal:
            call.out.show(_heading(passage))
        text = _numbered(passage) if numbered else passage.text
        call.out.write((safe(text) if call.out.is_terminal else text) + "\n")


def _heading(passage: Passage) -> Iterator[Text]:
    whole = passage.last_line - passage.first_line + 1 == passage.total_lines
    lines = "" if whole else f":{passage.first_line}-{passage.last_line}"
    yield line((passage.document + lines, "cyan"), (f"  {passage.title}", "dim"))


def _numbered(passage: Passage) -> str:
    digits = len(str(passage.last_line))
    lines = enumerate(passage.text.split("\n"), passage.first_line)
    return "\n".join(f"{number:>{digits}}  {text}" for number, text in lines)
