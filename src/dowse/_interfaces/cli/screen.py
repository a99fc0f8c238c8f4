"""An output stream: whether people read it, how wide it is, and what it can show."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Part = str | tuple[str, str]
"""A piece of a line, alone or with its style."""

_ASCII = {"…": "...", "·": "-", "—": "-", "–": "-", "→": "->", "▰": "#", "▱": "-", "✓": "ok"}
_NARROWEST = 40  # below this, lines are left to the terminal to break


class OutputClosed(Exception):
    """The reader of the output has closed it, as `head` does."""


class Screen:
    """Standard output or standard error."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.in_colour = _in_colour(self.is_terminal, environment)

    @property
    def links(self) -> bool:
        """Whether it can show text that leads to a file."""
        return self.is_terminal and self.in_colour

    @property
    def encoding(self) -> str:
        """How its characters become bytes."""
        return self._stream.encoding or "utf-8"

    @property
    def width(self) -> int | None:
        """How many columns a line may take; None when no person reads it."""
        return max(_NARROWEST, shutil.get_terminal_size().columns) if self.is_terminal else None

    @cached_property
    def console(self) -> Console:
        """The same stream as rich sees it."""
        from rich.console import Console  # noqa: PLC0415  costs time that --json need not spend

        return Console(
            file=self._stream,
            force_terminal=self.is_terminal or self.in_colour,
            color_system="standard" if self.in_colour else None,
            width=self.width,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def say(self, *parts: Part, indent: int = 0) -> None:
        """Write a sentence, folded to the width."""
        from dowse._interfaces.cli.draw import folded, line  # noqa: PLC0415  --help draws nothing

        self.show(folded(line(*parts), self.width, indent))

    def show(self, lines: Iterable[Text]) -> None:
        """Write drawn lines as they are."""
        for line in lines:
            self.write(self._drawn(line) + "\n")

    def _drawn(self, line: Text) -> str:
        if not self.in_colour or not line.spans:
            return line.plain
        with self.console.capture() as drawn:
            self.console.print(line, soft_wrap=True, end="")
        return drawn.get()

    def write(self, text: str) -> None:
        """Write text as it is."""
        try:
            self._stream.write(text)
        except BrokenPipeError as error:
            raise OutputClosed from error

    def write_bytes(self, data: bytes) -> None:
        """Write bytes as they are, whatever encoding the stream has."""
        try:
            self._stream.flush()
            left = memoryview(data)
            while left:  # an unbuffered stream may take a part only
                left = left[self._stream.buffer.write(left) :]
        except BrokenPipeError as error:
            raise OutputClosed from error

    def flush(self) -> None:
        """Hand over all that was written."""
        try:
            self._stream.flush()
        except BrokenPipeError as error:
            raise OutputClosed from error


def prepare_streams() -> None:
    """Make the standard streams take every character, also if their encoding has few."""
    codecs.register_error("dowse", _replaced)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="dowse")


def silence_streams() -> None:
    """Keep the interpreter from complaining at its end that nobody reads any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_ASCII.get(one) or _escaped(one) for one in wrong), error.end


def _escaped(character: str) -> str:
    if 0xDC80 <= ord(character) <= 0xDCFF:  # a byte of a file name that is no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("ascii", "backslashreplace").decode()


def _in_colour(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Follow no-color.org and bixense.com/clicolors; a refusal is stronger than a wish."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    if any(
        environment.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    ):
        return True
    return is_terminal and environment.get("CLICOLOR") != "0"


# C1 controls and DEL; marks that turn round the order of what is read; separators of lines, which
# some terminals obey; marks that nothing shows: word joiners, annotations, tags.
_MISLEADING = (
    "\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029"
    "\u180e\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)

# What must not reach a terminal; tabs and line feeds may.
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_MISLEADING}\ud800-\udbff]")
_IN_JSON = re.compile(f"[{_MISLEADING}\u200b-\u200d]")  # JSON itself escapes the others


def safe(text: str) -> str:
    """Replace the characters that would do something else than be seen."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def as_json(record: object, *, line: bool = False) -> bytes:
    """Write a record as a JSON document, indented or on one `line`.

    It is escaped for pipes as well: JSON means the same either way, and may be shown later.
    """
    data = msgspec.json.encode(record)
    text = (data if line else msgspec.json.format(data, indent=2)).decode("utf-8")
    return escaped(text).encode("utf-8") + b"\n"


def escaped(text: str) -> str:
    """Write every character of JSON that cannot be seen as its number."""
    return _IN_JSON.sub(_numbered, text)


def _numbered(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
