"""`[[Target#Heading|label]]` and its relatives.

The order is Obsidian's: target first. Dendron writes the label first, which looks like a plain
Obsidian link; such a link keeps the note's name as its label, where the store can still find it
when it resolves links. Only where Dendron spells out `dendron://vault/note` is the order certain,
and there the parts are put right.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

WikilinkKind = Literal["wikilink", "embed"]
"""An embed shows its target in place: `![[Target]]`."""

WIKILINK = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]+)\]\]")
_PIPE = re.compile(r"\\?\|")  # in a table the pipe has to be escaped
_DENDRON = re.compile(r"dendron://[^/]*/")
_SIZE = re.compile(r"\d{1,5}(?:x\d{1,5})?")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Wikilink(Struct, frozen=True):
    """The parts of a wikilink, trimmed; `target` is empty for a place in the same document."""

    kind: WikilinkKind
    target: str
    anchor: str
    label: str

    @property
    def shown(self) -> str:
        """What a reader sees of it; the label of an embed may be the size of a picture."""
        size = self.kind == "embed" and _SIZE.fullmatch(self.label)
        return ("" if size else self.label) or self.target or self.anchor.lstrip("^")


def read_wikilink(match: re.Match[str]) -> Wikilink:
    """The parts of what `WIKILINK` matched."""
    target, *rest = _PIPE.split(match[2], maxsplit=1)
    label = rest[0].strip() if rest else ""
    if _DENDRON.match(label):
        target, label = label, target.strip()
    path, _, anchor = _DENDRON.sub("", target.strip()).partition("#")
    kind: WikilinkKind = "embed" if match[1] else "wikilink"
    return Wikilink(kind, path.strip(), anchor.strip(), label)


def leads_away(link: Wikilink) -> bool:
    """Whether the target is an address on the web rather than a document."""
    return _URL.match(link.target) is not None
