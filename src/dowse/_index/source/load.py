"""Read a source file: from its bytes to what it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dowse._index.source.convert import convert
from dowse._index.source.files import Unreadable, decode, decode_any, read_regular
from dowse._index.source.options import ReadOptions
from dowse._index.source.secrets import redact
from dowse._model import SourceFile, SourceText
from dowse._text.file_names import CANVAS, TEXT, kind_of
from dowse._util.arrays import np
from dowse._util.cancellation import Deadline

_LONGEST_NAME = 60  # characters of a card that stand for it where an arrow is described


def load(source: SourceFile, options: ReadOptions) -> SourceText:
    """Read, and where needed convert, a file; `Unreadable` says why when it cannot be used.

    Raises `TookTooLong` when what is computed here takes longer than `read.file_seconds`.
    """
    # The id has the name that the walk judged: a link's target may have another ending.
    kind = kind_of(source.id.rpartition("/")[2]) or TEXT
    data = read_regular(source.path, options.limit(kind))
    text, encoding = _read(data, kind, options)
    if len(text) > options.max_bytes:  # a small file can unpack to a text of any size
        raise Unreadable(
            f"Its text has {len(text):,} characters, the limit is {options.max_bytes:,}; split it, "
            "or raise read.max_bytes in the settings."
        )
    text, secrets = redact(text, options.redact)
    return SourceText(text, hashlib.sha256(data).hexdigest(), secrets, encoding)


def _read(data: bytes, kind: str, options: ReadOptions) -> tuple[str, str]:
    """Return the text, and its encoding where that was recognised by its bytes."""
    if kind == TEXT:
        return decode_any(data)
    if kind == CANVAS:
        return canvas_text(decode(data), Deadline(options.file_seconds)), ""
    if kind == "csv":
        text, encoding = decode_any(data)
        return convert(text.encode(), kind, options.convert_seconds), encoding
    return convert(data, kind, options.convert_seconds), ""


# ── A canvas of Obsidian: its cards by group, and what its arrows say ────────


class _Card(Struct, frozen=True):
    kind: str
    text: str  # of a group: its label
    left: float
    top: float
    right: float
    bottom: float

    @property
    def order(self) -> tuple[float, float, str]:
        return self.top, self.left, self.text

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


def canvas_text(text: str, deadline: Deadline) -> str:
    """Return the Markdown of a canvas; raises `Unreadable` for others, or `TookTooLong`."""
    try:
        content = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise Unreadable("It is not a canvas: its JSON cannot be read.") from error
    if not isinstance(content, dict):
        raise Unreadable("It is not a canvas: its JSON is no object.")
    cards = {str(node.get("id")): _card(node) for node in _entries(content, "nodes")}
    parts = [*_cards(list(cards.values()), deadline), *_arrows(_entries(content, "edges"), cards)]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _entries(content: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = content.get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _card(node: Mapping[str, Any]) -> _Card:
    kind = str(node.get("type", ""))
    left, top = _number(node.get("x")), _number(node.get("y"))
    right, bottom = left + _number(node.get("width")), top + _number(node.get("height"))
    return _Card(kind, _text(kind, node), left, top, right, bottom)


def _text(kind: str, node: Mapping[str, Any]) -> str:
    said = {name: str(node.get(name) or "") for name in ("text", "file", "subpath", "url", "label")}
    if kind == "file":
        return f"![[{said['file']}{said['subpath']}]]" if said["file"] else ""
    if kind == "link":
        return f"<{said['url']}>" if said["url"] else ""
    return said["label"] if kind == "group" else said["text"]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else 0.0


def _cards(cards: list[_Card], deadline: Deadline) -> Iterator[str]:
    """Yield the cards outside of groups, then each group with its own; from top to bottom."""
    groups = sorted((one for one in cards if one.kind == "group"), key=lambda one: one.order)
    # The smallest group first, so that the first one around a card is the inmost. Arrays compare a
    # card with all groups at once: 4,000 cards in 4,000 groups take 0.1 s, and 3 s in a loop.
    inmost_first = sorted(range(len(groups)), key=lambda place: groups[place].area)
    sides = [(one.left, one.right, one.top, one.bottom) for one in groups]
    left, right, top, bottom = np.array([sides[place] for place in inmost_first]).reshape(-1, 4).T
    by_group: dict[int, list[_Card]] = {}
    for card in sorted((one for one in cards if one.kind != "group"), key=lambda one: one.order):
        deadline.check()
        across, down = (card.left + card.right) / 2, (card.top + card.bottom) / 2
        around = (left <= across) & (across <= right) & (top <= down) & (down <= bottom)
        inmost = inmost_first[int(around.argmax())] if around.any() else -1
        by_group.setdefault(inmost, []).append(card)
    yield from (card.text for card in by_group.get(-1, ()))
    for place, group in enumerate(groups):
        yield f"## {' '.join(group.text.split())}" if group.text.strip() else ""
        yield from (card.text for card in by_group.get(place, ()))


def _arrows(edges: list[Mapping[str, Any]], cards: Mapping[str, _Card]) -> Iterator[str]:
    names = {id_: _name(card) for id_, card in cards.items()}  # many arrows can leave a long card
    for edge in edges:
        label = " ".join(str(edge.get("label") or "").split())
        ends = [names.get(str(edge.get(name))) for name in ("fromNode", "toNode")]
        if label and None not in ends:
            yield f"{ends[0]} → {ends[1]}: {label}"


def _name(card: _Card) -> str:
    first = card.text.strip().partition("\n")[0].lstrip("#!> ").strip()
    return first if len(first) <= _LONGEST_NAME else f"{first[:_LONGEST_NAME].rstrip()}…"
