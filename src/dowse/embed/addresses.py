"""Addresses as they may be shown to people."""

from __future__ import annotations

import re


def without_passwords(text: str) -> str:
    """The text with the user names and passwords of the addresses in it left out."""
    return re.sub(r"//[^/@\s]*@", "//", text)
