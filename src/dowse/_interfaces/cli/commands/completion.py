"""`dowse completion`: the completion script for a shell."""

from __future__ import annotations

from typing import Annotated

import click
from click.shell_completion import get_completion_class
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse.errors import UsageError

VARIABLE = "_DOWSE_COMPLETE"
"""The variable by which a shell asks for completions."""

_INSTALL = """\
\b
To install it:
  dowse completion bash > ~/.local/share/bash-completion/completions/dowse
  dowse completion zsh > ~/.zfunc/_dowse
  dowse completion fish > ~/.config/fish/completions/dowse.fish
  dowse completion powershell >> $PROFILE

Make the folder first where it is missing. For zsh, write "fpath+=~/.zfunc" into ~/.zshrc, before
"autoload -Uz compinit; compinit". Then open a new shell.
"""


class CompletionRecord(Struct, frozen=True):
    """What `dowse completion` prints."""

    shell: Annotated[str, "Name of the shell."]
    script: Annotated[str, "What the shell must run."]


@click.command(cls=Command, shape=CompletionRecord, epilog=_INSTALL)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
@click.pass_context
@pass_call
def command(call: Call, context: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(
            f"There is no completion for {shell}.", "Use bash, zsh, fish or powershell."
        )
    complete = kind(context.find_root().command, {}, "dowse", VARIABLE)
    script = complete.source_template % complete.source_vars()  # `source` would also run the shell
    if call.json:
        call.write_json(CompletionRecord(shell, script))
    else:
        call.out.write(script.strip("\n") + "\n")
