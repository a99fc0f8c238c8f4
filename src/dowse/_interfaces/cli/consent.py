"""Asking before something cannot be taken back."""

from __future__ import annotations

import sys

import click

from dowse._interfaces.cli.call import Call
from dowse.errors import Refused


def require_yes(call: Call, question: str, *, yes: bool) -> None:
    """Returns only when the user agrees; raises `Refused` when they do not or cannot be asked."""
    if yes:
        return
    if call.json or not (sys.stdin.isatty() and call.aside.is_terminal):
        raise Refused(f"{question} There is nobody to ask.", "Say so with --yes.")
    if not click.confirm(question, err=True):
        raise Refused("Nothing was changed.")
