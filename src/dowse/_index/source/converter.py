"""The process that converts: what a broken file does to a library, it does not do to dowse.

It reads requests from its standard input and answers on its standard output, both as
a line of JSON followed by bytes. It may neither connect anywhere nor start programs.
"""

from __future__ import annotations

import csv
import errno
import html
import io
import json
import os
import re
import select
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

if sys.platform != "win32":
    import resource

from dowse._index.child import begin
from dowse._index.source.files import Unreadable, decode, refuse_binary, unix_lines
from dowse._text.file_names import INSTALL, READY

IDLE_SECONDS = 60
"""How long the process waits for the next file before it ends and frees its memory."""


_FORBIDDEN = (
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
)


def main() -> None:
    """Answer requests until there are none."""
    requests, answers = begin()
    _limit_memory()
    sys.addaudithook(refuse)
    with suppress(ModuleNotFoundError):  # each file is then answered with how to install it
        import_module("markitdown.converters")  # what every conversion needs: about a second
    answers.write(READY)
    answers.flush()
    while request := _next_line(requests):
        header = json.loads(request)
        fine, text = answer(requests.read(header["size"]), header["kind"])
        payload = text.encode("utf-8", "replace")
        answers.write(json.dumps({"fine": fine, "size": len(payload)}).encode() + b"\n" + payload)
        answers.flush()


def answer(data: bytes, kind: str) -> tuple[bool, str]:
    """Return True with the Markdown, or False with the reason why there is none."""
    try:
        return True, to_markdown(data, kind)
    except Unreadable as error:
        return False, error.reason
    except Exception as error:  # noqa: BLE001  the libraries raise anything at broken files
        if _lacks_memory(error):
            what = "It is too large to convert with the memory that there is."
            return False, f"{what} Index with more memory, or leave it out."
        if isinstance(error, ImportError):
            return False, INSTALL
        summary = ": ".join(filter(None, [type(error).__name__, str(error)[:120].split("\n")[0]]))
        return False, f"It cannot be converted, it may be damaged ({summary})."


def _lacks_memory(error: BaseException | None) -> bool:
    """Return whether a want of memory is behind an error, however the libraries have wrapped it."""
    for _ in range(20):
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        error = error and (error.__cause__ or error.__context__)
    # Libraries fail in many ways near the limit of the process.
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except (OSError, MemoryError):  # other systems than Linux do not have it
        return False
    peak = next((int(line.split()[1]) for line in status.splitlines() if "VmPeak" in line), 0)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    # With 64 MiB left the next large piece would not have fitted.
    return limit != resource.RLIM_INFINITY and peak * 1024 > limit - (64 << 20)


def refuse(event: str, arguments: Any) -> None:  # noqa: ARG001  the signature is Python's
    """Stop, as an audit hook, what a conversion has no business doing."""
    if event in _FORBIDDEN:
        raise PermissionError(f"a conversion may not use {event}")


def _next_line(requests: BinaryIO) -> bytes:
    if os.name == "posix" and not select.select([requests], [], [], IDLE_SECONDS)[0]:
        return b""
    return requests.readline()


def _limit_memory() -> None:
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        given = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        # A limit that the user has set is kept: only root could raise it, and should not.
        with suppress(OSError, ValueError):  # macOS refuses every limit of this kind
            resource.setrlimit(resource.RLIMIT_AS, (min([4 << 30, *given]), hard))  # 4 GiB


# ── To Markdown ──────────────────────────────────────────────────────────────
# With markitdown's converters. They are called one by one and handed bytes: nothing is guessed,
# fetched, captioned or loaded from plugins.

_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->\n*(?:# (.+)$)?", re.MULTILINE)
_EMPTY_CELL = re.compile(r"\| (?:NaN|Unnamed: \d+(?:_level_\d+)?) (?=\|)")
_H1 = re.compile(r"^# ", re.MULTILINE)

_TITLE_IDS = re.compile(r'<w:style\b[^>]*w:styleId="([^"]+)"[^>]*>\s*<w:name w:val="Title"/>')
_PROPERTY_TITLE = re.compile(r"<dc:title(?:\s[^>]*)?>([^<]*)</dc:title>")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # what office files with a password begin with


def to_markdown(data: bytes, kind: str) -> str:
    """Return the Markdown for a file of this kind; whatever the libraries raise is passed on."""
    if not data and kind not in {"csv", "html"}:
        raise Unreadable("It is empty.")
    if kind in {"docx", "pptx", "xlsx"}:  # ZIP files inside
        _check_packed(data)
    return _UNPRINTABLE.sub("", unix_lines(_BY_KIND[kind](data)))


def _check_packed(data: bytes) -> None:
    if data.startswith(_OLD_OFFICE):
        raise Unreadable("It has a password, or an older format. Save it again without them.")
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        unpacked = sum(member.file_size for member in packed.infolist())
    # Office files shrink to a tenth or so; a bomb shrinks to a thousandth, and takes minutes. What
    # is small may be packed as densely as it likes.
    if unpacked > max(100_000_000, 100 * len(data)):
        raise Unreadable(f"It would unpack to {unpacked:,} bytes, more than such a file does.")


def _converted(data: bytes, kind: str, **options: str) -> Any:
    # Importing it takes a second, and no other process than the converting one needs it.
    from markitdown import MissingDependencyException, StreamInfo, converters  # noqa: PLC0415

    converter = getattr(converters, f"{kind.capitalize()}Converter")()
    # HTML may name its own encoding; what else is text arrives here as UTF-8.
    about = StreamInfo(extension=f".{kind}", charset="utf-8" if kind == "csv" else None)
    try:
        return converter.convert(io.BytesIO(data), about, **options)
    except MissingDependencyException as error:
        raise ImportError(kind) from error


def _docx(data: bytes) -> str:
    """Use as title a paragraph in the style Title, or what the properties of the file say."""
    text = str(_converted(data, "docx", style_map="p[style-name='Title'] => h1:fresh").markdown)
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        styles, body = _part(packed, "word/styles.xml"), _part(packed, "word/document.xml")
        properties = _part(packed, "docProps/core.xml")
    # The id of a style depends on the language of Word, its name does not.
    has_title = any(f'<w:pStyle w:val="{one}"/>' in body for one in _TITLE_IDS.findall(styles))
    found = None if has_title else _PROPERTY_TITLE.search(properties)
    # A single first heading is the title; of several none is, they are chapters.
    return _titled(text, html.unescape(found[1]) if found and len(_H1.findall(text)) != 1 else "")


def _part(packed: zipfile.ZipFile, name: str) -> str:
    return packed.read(name).decode("utf-8", "replace") if name in packed.namelist() else ""


def _html(data: bytes) -> str:
    refuse_binary(data)
    page = _converted(data, "html")
    return _titled(page.markdown, "" if _H1.search(page.markdown) else page.title or "")


def _titled(text: str, title: str) -> str:
    """Return a text under a title that is its own, if it has one."""
    return f"# {' '.join(title.split())}\n\n{text}" if title.strip() else text


def _sheets(kind: str) -> Callable[[bytes], str]:
    return lambda data: _EMPTY_CELL.sub("|  ", _converted(data, kind).markdown)


def _csv(data: bytes) -> str:
    text = decode(data)
    # What separates the columns: the likeliest sign of the first line, else a comma.
    delimiter = max(",;\t|", key=text.lstrip("\n").partition("\n")[0].count)
    if delimiter != ",":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rewritten = io.StringIO(newline="")
        csv.writer(rewritten).writerows(rows)
        text = rewritten.getvalue()
    return str(_converted(text.encode(), "csv").markdown)


def _slides(data: bytes) -> str:
    """Put each slide under a heading; the first slide's title is the title of the whole."""

    def heading(match: re.Match[str]) -> str:
        number, title = match.groups()
        slide = f"## Slide {number}: {title}" if title else f"## Slide {number}\n"
        return f"# {title}" if title and number == "1" else slide

    return _SLIDE.sub(heading, _converted(data, "pptx").markdown)


def _pages(data: bytes) -> str:
    """Put each page under a heading, so that a result can be traced to its page."""
    import pypdfium2  # type: ignore[import-untyped]  # noqa: PLC0415  only conversions need it

    try:
        pages = []
        with pypdfium2.PdfDocument(data) as whole:
            for index in range(len(whole)):  # markitdown joins pages without a trace
                with whole.new() as single:
                    single.import_pages(whole, [index])
                    buffer = io.BytesIO()
                    single.save(buffer)
                pages.append(_converted(buffer.getvalue(), "pdf").markdown)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("It is protected by a password; save it without one.") from error
        # The other library may still make something of it.
        pages = _converted(data, "pdf").markdown.split("\f")
    pages = [page.strip() for page in pages]
    if not any(pages):
        raise Unreadable("It holds no text; pages that were scanned need text recognition first.")
    return "\n\n".join(f"## Page {n}\n\n{page}" for n, page in enumerate(pages, 1) if page)


_BY_KIND = {
    "pdf": _pages,
    "docx": _docx,
    "pptx": _slides,
    "xlsx": _sheets("xlsx"),
    "xls": _sheets("xls"),
    "csv": _csv,
    "html": _html,
}


if __name__ == "__main__":
    main()
