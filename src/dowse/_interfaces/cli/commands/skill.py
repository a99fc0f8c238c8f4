"""`dowse skill`: a short text that says to agents when and how to use dowse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.mcp.clients import CLIENTS, SKILL, find_client, plan_text, write
from dowse.errors import UsageError

if TYPE_CHECKING:
    from rich.text import Text

_EXAMPLES = """\
\b
Examples:
  dowse skill install --client claude-code     write it where the agent reads skills
  dowse skill install --print                  print it, for any other agent
"""


class SkillRecord(Struct, frozen=True):
    """What `dowse skill install` did."""

    client: Annotated[str, "Name of the client."]
    path: Annotated[str, "The file, absolute."]
    written: Annotated[bool, "Whether the file was written or changed."]
    backup: Annotated[str | None, "A copy of the file as it was; null when there was none."]


@click.group(cls=Group, epilog=_EXAMPLES)
def skill_command() -> None:
    """Teach an agent when and how to use dowse."""


@skill_command.command("install", cls=Command, record=SkillRecord, epilog=_EXAMPLES)
@click.option(
    "--client",
    "name",
    type=click.Choice([one.name for one in CLIENTS]),
    help="The agent that is to use dowse.",
)
@click.option("--print", "only_print", is_flag=True, help="Print the text, and write nothing.")
@pass_call
def install_command(call: Call, name: str | None, only_print: bool) -> None:
    """Write a short skill, or a rule, about dowse where an agent reads it.

    The file is among the user's own settings of the agent, and applies in all folders.
    """
    if only_print:
        call.out.write(SKILL)
        return
    if name is None:
        raise UsageError("It is not said for which agent.", "Use --client NAME, or --print.")
    record = _written(call, name)
    call.answer(record, lambda width: _drawn(record, width))


def _written(call: Call, name: str) -> SkillRecord:
    from dowse._project.outputs import check_outside_roots  # noqa: PLC0415  --help does not need it

    change = plan_text(find_client(name).skill_path, SKILL)
    check_outside_roots(call.workspace, change.path)
    backup = write(change, "dowse skill install --print >") if change.needed else None
    return SkillRecord(name, str(change.path), change.needed, str(backup) if backup else None)


def _drawn(record: SkillRecord, width: int | None) -> Iterator[Text]:
    from dowse._interfaces.cli.draw import folded, line  # noqa: PLC0415  --help does not need it

    copy = f" The file as it was: {record.backup}." if record.backup else ""
    said = f"Wrote {record.path}.{copy}" if record.written else f"{record.path} has it already."
    return iter(folded(line(said), width))
