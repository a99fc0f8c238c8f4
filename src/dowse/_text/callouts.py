"""Callouts: block quotes that begin with their kind, as in `> [!warning] Hot`."""

from __future__ import annotations

import re

CALLOUT = re.compile(r"\[!(?P<kind>[\w-]{1,40})(?:\|[^\]\n]{0,100})?\][+-]?[ \t]*")
"""The kind of a callout, where a quote begins with it."""


def callout_name(match: re.Match[str]) -> str:
    """The kind of what `CALLOUT` matched, for people: Warning."""
    return match["kind"].replace("-", " ").capitalize()
