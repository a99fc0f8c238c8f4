"""Read a source file, as text, as a canvas or converted; and the pictures next to documents."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import json
import os
import posixpath
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from dowse._index.child import Child
from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable, decode, decode_any, read_regular, wording
from dowse._index.source.roots import Root, path_of
from dowse._index.source.rules import Gate
from dowse._index.source.secrets import redact
from dowse._model import SourceFile, SourceText
from dowse._text.file_names import CANVAS, INSTALL, READY, TEXT, kind_of
from dowse._util.process import Deadline, raise_if_cancelled
from dowse.errors import NotFound

_LONGEST_NAME = 60  # characters of a card that stand for it where an arrow is described


def load(source: SourceFile, options: ReadOptions) -> SourceText:
    """Read, and where needed convert, a file; `Unreadable` says why when it cannot be used.

    Raises `TookTooLong` when what is computed here takes longer than `read.file_seconds`.
    """
    # The id has the name that the walk judged: a link's target may have another ending.
    kind = kind_of(source.id.rpartition("/")[2]) or TEXT
    data = read_regular(source.path, options.limit(kind))
    # The encoding is named where it was recognised by its bytes.
    text, encoding = decode_any(data) if kind in {TEXT, "csv"} else ("", "")
    if kind == CANVAS:
        text = canvas_text(decode(data), Deadline(options.file_seconds))
    elif kind != TEXT:
        text = convert(text.encode() if kind == "csv" else data, kind, options.convert_seconds)
    if len(text) > options.max_bytes:  # a small file can unpack to a text of any size
        raise Unreadable(
            f"Its text has {len(text):,} characters, the limit is {options.max_bytes:,}; split it, "
            "or raise read.max_bytes in the settings."
        )
    text, secrets = redact(text, options.redact)
    return SourceText(text, hashlib.sha256(data).hexdigest(), secrets, encoding)


# ── A canvas of Obsidian: its cards by group, and what its arrows say ────────


class _Card(Struct, frozen=True):
    kind: str
    text: str  # of a group: its label
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, card: _Card) -> bool:
        """Return whether the middle of a card is inside."""
        across, down = (card.left + card.right) / 2, (card.top + card.bottom) / 2
        return self.left <= across <= self.right and self.top <= down <= self.bottom


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
    text, file, subpath, url, label = (
        str(node.get(name) or "") for name in ("text", "file", "subpath", "url", "label")
    )
    kind = str(node.get("type", ""))
    by_kind = {
        "file": file and f"![[{file}{subpath}]]",
        "link": url and f"<{url}>",
        "group": label,
    }
    left, top, width, height = (_number(node.get(name)) for name in ("x", "y", "width", "height"))
    return _Card(kind, by_kind.get(kind, text), left, top, left + width, top + height)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else 0.0


def _cards(cards: list[_Card], deadline: Deadline) -> Iterator[str]:
    """Return the cards outside of groups, then each group with its own; from top to bottom."""
    ordered = sorted(cards, key=attrgetter("top", "left", "text"))
    groups = [one for one in ordered if one.kind == "group"]
    # The smallest group first, so that the first one around a card is the inmost.
    areas = [(one.right - one.left) * (one.bottom - one.top) for one in groups]
    inmost_first = sorted(range(len(groups)), key=areas.__getitem__)
    texts: dict[int, list[str]] = {-1: []}  # those outside of groups, then each group's
    for place, group in enumerate(groups):
        texts[place] = [f"## {' '.join(group.text.split())}" if group.text.strip() else ""]
    for card in (one for one in ordered if one.kind != "group"):
        deadline.check()
        around = (place for place in inmost_first if groups[place].holds(card))
        texts[next(around, -1)].append(card.text)
    return chain.from_iterable(texts.values())


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


# ── Converted: office files, PDFs and web pages ──────────────────────────────
# A broken file can make a library print, hang, eat memory or crash; all of that ends in a process
# of its own, and the file is reported as `Unreadable`. The process starts with the first file.

_SECONDS = 60.0  # for any file, however small
_SECONDS_PER_MEGABYTE = 20.0
_CRASHED = "Its conversion crashed: it is damaged, or needs more memory."


def is_installed() -> bool:
    """Return whether the libraries that convert are there; nothing is imported."""
    return importlib.util.find_spec("markitdown") is not None


def convert(data: bytes, kind: str, seconds: float) -> str:
    """Return the Markdown for a file of this kind; `Unreadable` says why there is none."""
    if not is_installed():
        raise Unreadable(INSTALL, lost=False)
    return _converter.convert(data, kind, patience(len(data), seconds))


def patience(size: int, most: float) -> float:
    """Return the seconds for a file of this size: a small one that takes minutes is a bomb."""
    return min(most, _SECONDS + _SECONDS_PER_MEGABYTE * size / 1e6)


class _Converter:
    """The converting process, started when it is needed and again after it ended."""

    def __init__(self) -> None:
        self._process: Child | None = None
        self._ready = False  # whether the libraries are loaded
        self._lock = threading.Lock()

    def convert(self, data: bytes, kind: str, seconds: float) -> str:
        with self._lock:
            # Without an answer, the process had just ended for want of work.
            answer = self._request(data, kind, seconds) or self._request(data, kind, seconds)
        fine, text = answer or (False, _CRASHED)
        if not fine:
            raise Unreadable(text, lost=text != INSTALL)
        return text

    def stop(self) -> int:
        """End the process; return its exit code, 0 when it had ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        return process.end()

    def _request(self, data: bytes, kind: str, seconds: float) -> tuple[bool, str] | None:
        """Return what the process answers; None when it ended unasked, and without a fault."""
        if self._process is None or self._process.poll() is not None:
            self.stop()
            try:
                self._process, self._ready = Child("-m", "dowse._index.source.converter"), False
            except OSError as error:
                raise Unreadable(f"The converter cannot be started: {wording(error)}.") from error
        process = self._process
        try:
            with process.killed_after(seconds):
                # A new process loads the libraries first: that it cannot is no file's fault.
                self._ready = self._ready or process.answers.readline() == READY
                if not self._ready:
                    raise EOFError("the process could not begin")
                return _exchange(process, data, kind)
        except (OSError, EOFError, ValueError) as error:
            if process.is_overdue:
                raise Unreadable(f"Its conversion took longer than {seconds:g} seconds.") from error
            code, advice = self.stop(), "Index with more memory, or leave such files out."
            if not self._ready:
                return False, f"The converter cannot start, probably for want of memory. {advice}"
            if code == -9:  # dowse itself says when it kills
                return False, f"The system ended its conversion for want of memory. {advice}"
            return (False, _CRASHED) if code else None
        except BaseException:
            self.stop()  # half an answer may be on its way
            raise
        finally:
            if process.is_overdue:
                self.stop()


def _exchange(process: Child, data: bytes, kind: str) -> tuple[bool, str]:
    process.requests.write(json.dumps({"kind": kind, "size": len(data)}).encode() + b"\n" + data)
    process.requests.flush()
    header = json.loads(process.answers.readline())
    payload = process.answers.read(header["size"])
    if len(payload) < header["size"]:
        raise EOFError("the answer was cut off")
    return header["fine"], payload.decode()


_converter = _Converter()
atexit.register(_converter.stop)


# ── Pictures next to documents: found as links to them are, and read from inside a root only

MOST_BYTES = 10_000_000
"""The size of a picture at most."""

_STATIC = ("static", "public", "assets", "docs")  # where sites keep what `/img/a.png` means

_SIGNS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
)
_SVG = (b"<svg", b"<?xml", b"<!--", b"<!DOCTYPE svg")


class Picture(Struct, frozen=True):
    """A picture that a browser can show."""

    type: str  # media type, by what the file holds
    data: bytes


def read_picture(roots: Sequence[Root], options: ReadOptions, document: str, name: str) -> Picture:
    """Return the picture that a document calls by this path; `NotFound` when there is none to show.

    It must be in the root of the document, and be neither hidden nor ignored nor reached by a link.
    """
    path = path_of(roots, document)
    why = "It is not in the folder, or is hidden or ignored."
    for root in (one for one in roots if path.is_relative_to(one.path) and one.path.is_dir()):
        gate = Gate(str(root.path), options)
        places = _places(root, gate, path.parent.relative_to(root.path).as_posix(), name)
        if below := next(
            (one for one in places if (root.path / one).is_file() and gate.shows(one)), ""
        ):
            try:
                return _read(root.path / below)
            except Unreadable as error:
                why = error.reason
                break
    raise NotFound(f"The picture {name!r} cannot be shown. {why}", "Check its path.")


def _places(root: Root, gate: Gate, folder: str, name: str) -> Iterator[str]:
    """Yield where the picture may be: as written, from the top of the root, then by its name."""
    plain = name.replace("\\", "/").strip()
    if "\0" in plain or not plain.strip("./"):
        return
    top = plain.lstrip("/")
    # What begins with a slash is joined to nothing.
    below = map(
        posixpath.normpath,
        (posixpath.join(folder, plain), top, *(f"{site}/{top}" for site in _STATIC)),
    )
    yield from (one for one in below if not one.startswith(("../", "/")) and one != "..")
    yield from _by_name(root.path, gate, posixpath.normpath(top))


def _by_name(top: Path, gate: Gate, name: str) -> Iterator[str]:
    """Yield files anywhere below a folder whose path ends so, as Obsidian finds them."""
    wanted, looked = f"/{name}".casefold(), 0
    for folder, folders, files in os.walk(top):
        raise_if_cancelled()
        folders[:] = sorted(one for one in folders if gate.sees(one))
        looked += len(files)
        base = Path(folder).relative_to(top).as_posix()
        yield from (
            posixpath.normpath(one)
            for one in (f"{base}/{file}" for file in sorted(files))
            if f"/{one}".casefold().endswith(wanted)
        )
        if looked > 20_000:
            return


def _read(path: Path) -> Picture:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise Unreadable(f"It cannot be read: {wording(error)}.") from error
    if size > MOST_BYTES:
        raise Unreadable(f"It has more than {MOST_BYTES:,} bytes.")
    data = read_regular(path, MOST_BYTES)
    kinds = (kind for place, sign, kind in _SIGNS if data.startswith(sign, place))
    is_svg = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_SVG) and b"<svg" in data[:4096]
    if kind := next(kinds, "image/svg+xml" if is_svg else ""):
        return Picture(kind, data)
    raise Unreadable("It is no picture that a browser shows.")
