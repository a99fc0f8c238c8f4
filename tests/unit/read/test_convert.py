"""Files that become Markdown, made here in small and real."""

import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dowse._index.child import Child
from dowse._index.options import ReadOptions
from dowse._index.source import converter as worker
from dowse._index.source import load as load_module
from dowse._index.source.converter import answer, refuse
from dowse._index.source.files import Unreadable
from dowse._index.source.load import convert, load, patience
from dowse._index.source.walk import Walk
from dowse._search.request import SearchRequest
from dowse._text.file_names import CONVERTED
from vaults import open_engine

pytest.importorskip("markitdown")

SECONDS = 60.0
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    kids = []
    for page in pages:
        stream = b"BT /F1 12 Tf 72 720 Td (" + page.encode() + b") Tj ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(offsets))
    return b"%s%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        body, table, size, len(body),
    )  # fmt: skip


def docx(*paragraphs: tuple[str, str], title: str | None = None) -> bytes:
    """A Word file with paragraphs of (style, text), and a title among its properties."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}">'
        f'<w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    styles += '<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>'
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    link = f'<Relationship Id="r1" Type="{OFFICE}" Target="word/document.xml"/>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr(
            "_rels/.rels", f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>'
        )
        archive.writestr("word/styles.xml", f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>')
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        )
        if title is not None:
            archive.writestr("docProps/core.xml", f"<x><dc:title>{title}</dc:title></x>")
    return buffer.getvalue()


def xlsx(**sheets: list[list[Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xls(*rows: tuple[str, ...]) -> bytes:
    """A sheet in the oldest of the formats, which is a plain list of records."""
    records = [(0x0009, struct.pack("<HH", 2, 0x10))]
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            cell = struct.pack("<HH3xB", y, x, len(text)) + text.encode()
            records.append((0x0004, cell))
    records.append((0x000A, b""))
    return b"".join(struct.pack("<HH", code, len(data)) + data for code, data in records)


def pptx() -> bytes:
    presentation = pytest.importorskip("pptx").Presentation()
    layouts = presentation.slide_layouts
    presentation.slides.add_slide(layouts[0]).shapes.title.text = "The deck"
    second = presentation.slides.add_slide(layouts[1])
    second.shapes.title.text = "Plans"
    second.placeholders[1].text = "Grow potatoes"
    second.notes_slide.notes_text_frame.text = "Speak slowly"
    third = presentation.slides.add_slide(layouts[6])
    third.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "No title here"
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def reason_for(data: bytes, kind: str, seconds: float = SECONDS) -> str:
    with pytest.raises(Unreadable) as caught:
        convert(data, kind, seconds)
    return caught.value.reason


# ── What becomes of each format ──────────────────────────────────────────────


def test_pages_of_a_pdf_become_headings() -> None:
    text = convert(pdf("The first page", "", "The third page"), "pdf", SECONDS)
    assert text == "## Page 1\n\nThe first page\n\n## Page 3\n\nThe third page"


def test_a_pdf_without_text_is_reported() -> None:
    assert "no text" in reason_for(pdf("", ""), "pdf")


def test_headings_of_a_word_file_stay() -> None:
    made = docx(("Heading1", "Grüße"), ("Normal", "Erster Absatz"), ("Heading2", "Mehr"))
    assert convert(made, "docx", SECONDS) == "# Grüße\n\nErster Absatz\n\n## Mehr"


def test_sheets_become_headings_and_empty_cells_stay_empty() -> None:
    made = xlsx(Costs=[["item", None, "price"], ["tea", None, 3], [None, "x", 4]], Other=[["q"]])
    text = convert(made, "xlsx", SECONDS)
    assert text.startswith("## Costs\n| item |  | price |")
    assert "| tea |  | 3 |" in text
    assert "\n## Other\n" in text
    assert "NaN" not in text
    assert "Unnamed" not in text


def test_an_old_sheet_becomes_a_table_under_its_name() -> None:
    text = convert(xls(("name", "note"), ("tea", "green")), "xls", SECONDS)
    assert text == "## Sheet 1\n| name | note |\n| --- | --- |\n| tea | green |"


def test_slides_become_headings() -> None:
    text = convert(pptx(), "pptx", SECONDS)
    lines = [line for line in text.split("\n") if line]
    assert lines == [
        "# The deck",
        "## Slide 2: Plans",
        "Grow potatoes",
        "### Notes:",
        "Speak slowly",
        "## Slide 3",
        "No title here",
    ]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_csv_file_becomes_a_table(sign: str) -> None:
    data = f'\ufeffname{sign}note\r\nÄpfel{sign}"a{sign} b|c"\r\n'.encode()
    assert convert(data, "csv", SECONDS) == (
        f"| name | note |\n| --- | --- |\n| Äpfel | a{sign} b\\|c |"
    )


def test_a_csv_file_in_another_encoding_is_reported() -> None:
    assert "not UTF-8" in reason_for(b"a,b\n\xe9,1\n", "csv")


def test_a_word_file_has_its_title() -> None:
    styled = docx(("Title", "Masts"), ("Heading1", "Part"), ("Normal", "Oil."), title="Other")
    assert convert(styled, "docx", SECONDS).startswith("# Masts\n\n# Part\n\nOil.")
    chapters = docx(("Heading1", "One"), ("Heading1", "Two"), title="Masts &amp; oil")
    assert convert(chapters, "docx", SECONDS).startswith("# Masts & oil\n\n# One")
    plain = docx(("Normal", "Oil the mast."), title=" Masts ")
    assert convert(plain, "docx", SECONDS) == "# Masts\n\nOil the mast."
    headed = docx(("Heading1", "One"), ("Normal", "Oil."), title="A template")
    assert convert(headed, "docx", SECONDS) == "# One\n\nOil."


def test_a_web_page_keeps_its_title_and_headings_and_loses_its_scripts() -> None:
    page = (
        "<html><head><title>My\n page</title><script>alert(1)</script></head>"
        "<body><h2>Part</h2><p>Some <b>bold</b> text</p>"
        '<img src="http://127.0.0.1:9/x.png"></body></html>'
    )
    text = convert(page.encode(), "html", SECONDS)
    assert text.startswith("# My page\n\n## Part\n\nSome **bold** text")
    assert "alert" not in text


def test_a_web_page_with_a_first_heading_needs_no_title() -> None:
    page = b"<html><head><title>Site</title></head><body><h1>Article</h1></body></html>"
    assert convert(page, "html", SECONDS) == "# Article"


def test_a_web_page_names_its_own_encoding() -> None:
    page = '<meta charset="iso-8859-1"><p>café</p>'.encode("latin-1")
    assert convert(page, "html", SECONDS) == "café"


def test_a_binary_file_is_no_web_page() -> None:
    assert "binary" in reason_for(b"\x89PNG\r\n\0\0<p>", "html")
    assert convert("<p>zwölf</p>".encode("utf-16"), "html", SECONDS) == "zwölf"


def test_a_deeply_nested_web_page_gives_its_text() -> None:
    assert convert(b"<div>" * 5000 + b"deep", "html", SECONDS) == "deep"


def test_load_converts_and_the_digest_is_of_the_bytes(
    folder: Path, found: Callable[..., Walk]
) -> None:
    (folder / "T.CSV").write_bytes(b"a,b\r\n1,2\r\n")
    (source,) = found().sources
    text = load(source, ReadOptions())
    assert text.text == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert len(text.digest) == 64


# ── What goes wrong ──────────────────────────────────────────────────────────


def outcome(data: bytes, kind: str) -> str:
    """The Markdown, or the reason why there is none."""
    try:
        return convert(data, kind, SECONDS)
    except Unreadable as error:
        return f"Unreadable: {error.reason}"


@pytest.mark.parametrize("kind", CONVERTED)
@pytest.mark.parametrize("data", [b"", b"\0\xff junk", b"PK\x03\x04", b"%PDF-1.7\n1 0 obj <<"])
def test_broken_files_are_reported_without_noise(
    kind: str, data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    said = outcome(data, kind)
    if kind not in {"csv", "html"}:  # to these nearly everything is text
        assert "\n" not in said
        assert said.startswith("Unreadable: ")
        assert said.endswith(".")
    assert capfd.readouterr() == ("", "")


def test_locked_and_empty_files_are_called_so() -> None:
    office = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2048)
    for kind in ("docx", "pptx", "xlsx"):
        assert "password" in reason_for(office, kind)
    locked = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%b> /U <%b> >> /ID [<00><00>]" % (
        b"ab" * 32,
        b"cd" * 32,
    )
    assert "password" in reason_for(pdf("one").replace(b"/Root", locked + b" /Root"), "pdf")
    for kind in ("pdf", "docx", "pptx", "xlsx", "xls"):
        assert reason_for(b"", kind) == "It is empty."


def test_a_bomb_is_not_unpacked() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(3):
            packed.writestr(f"word/{number}.xml", bytes(40_000_000))
    assert "would unpack to 120,000,000 bytes" in reason_for(bomb.getvalue(), "docx")


def test_damaged_copies_of_good_files_are_reported_or_read_around() -> None:
    good = {"docx": docx(("Heading1", "x")), "xlsx": xlsx(S=[["a"], [1]]), "pdf": pdf("one")}
    for kind, data in good.items():
        for cut in (1, len(data) // 3, len(data) - 30):
            outcome(data[:cut] + b"\xff" * 9, kind)
        assert not outcome(data, kind).startswith("Unreadable")


def test_after_a_broken_file_the_next_one_is_fine() -> None:
    reason_for(b"junk", "pdf")
    assert "fine" in convert(pdf("fine"), "pdf", SECONDS)


def test_a_conversion_that_takes_too_long_is_ended() -> None:
    assert "longer than 0.001 seconds" in reason_for(pdf(*["x"] * 300), "pdf", 0.001)
    assert convert(b"a\n1\n", "csv", SECONDS)


@pytest.mark.parametrize(
    ("number", "told"),
    [(signal.SIGSEGV, "damaged, or needs more memory"), (signal.SIGKILL, "for want of memory")],
)
def test_a_crash_of_the_process_costs_one_file(
    monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    real = load_module._exchange

    def dying(process: Child, data: bytes, kind: str) -> tuple[bool, str]:
        process.send_signal(number)
        return real(process, data, kind)

    with monkeypatch.context() as patch:
        patch.setattr(load_module, "_exchange", dying)
        assert told in reason_for(b"a\n1\n", "csv")
    assert convert(b"a\n1\n", "csv", SECONDS)


@pytest.mark.parametrize("kilobytes", [60_000, 250_000])
def test_a_good_file_is_not_called_damaged_where_memory_is_scarce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kilobytes: int
) -> None:
    scarce = tmp_path / "python"
    scarce.write_text(f'#!/bin/sh\nulimit -S -v {kilobytes}; exec {sys.executable} "$@"\n')
    scarce.chmod(0o700)
    load_module._converter.stop()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(scarce))
        assert "want of memory" in reason_for(docx(("Heading1", "fine")), "docx")
    assert "fine" in convert(docx(("Heading1", "fine")), "docx", SECONDS)


def test_a_lack_of_memory_is_distinguished_from_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapping(*_: object) -> str:
        try:
            raise MemoryError
        except MemoryError as error:
            raise RuntimeError("conversion failed") from error

    monkeypatch.setattr(worker, "to_markdown", wrapping)
    fine, reason = answer(b"", "csv")
    assert not fine
    assert "too large" in reason
    assert "damaged" not in reason


def test_a_limit_that_the_user_has_set_is_not_raised() -> None:
    resource = pytest.importorskip("resource")
    command = (
        "import resource; from dowse._index.source.converter import _limit_memory; _limit_memory();"
        "print(*resource.getrlimit(resource.RLIMIT_AS))"
    )
    run = f"ulimit -S -v 2000000; exec {sys.executable} -c '{command}'"
    said = subprocess.run(["sh", "-c", run], capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(2_000_000 * 1024), str(resource.RLIM_INFINITY)]


def test_the_process_ends_when_its_parent_is_killed_in_the_middle_of_a_file() -> None:
    # The parent holds only the pipe; its worker has been sent a file that takes long.
    parent = (
        "import subprocess, sys, time;"
        "process = subprocess.Popen([sys.executable, '-P', '-m', 'dowse._index.source.converter'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE);"
        "process.stdout.readline();"
        "process.stdin.write(sys.stdin.buffer.read()); process.stdin.flush();"
        "print(process.pid, flush=True); time.sleep(100)"
    )
    data = pdf(*["a page of text"] * 3000)
    request = json.dumps({"kind": "pdf", "size": len(data)}).encode() + b"\n" + data
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", parent], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request)
        process.stdin.close()
        child = int(process.stdout.readline())
        assert _runs(child)
        process.kill()
    for _ in range(100):
        if not _runs(child):
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the converting process outlived its parent")


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # it has ended, and waits for somebody to notice


def test_a_small_file_gets_less_time_than_a_large_one() -> None:
    assert patience(100_000, 300.0) < 70
    assert patience(50_000_000, 300.0) == 300.0
    assert patience(100_000, 5.0) == 5.0


def test_a_process_that_ended_for_want_of_work_is_started_again() -> None:
    convert(b"a\n1\n", "csv", SECONDS)
    process = load_module._converter._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # to the process this is the end of the work
    process.wait(10)
    assert convert(b"a\n1\n", "csv", SECONDS)


def test_without_the_libraries_the_reason_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "is_installed", lambda: False)
    assert "pip install 'dowse-search[formats]'" in reason_for(b"a\n1\n", "csv")


def test_without_python_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    load_module._converter.stop()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert "cannot be started" in reason_for(b"a\n1\n", "csv")


# ── What a conversion may not do ─────────────────────────────────────────────


def test_it_may_neither_connect_nor_start_programs() -> None:
    for event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"):
        with pytest.raises(PermissionError):
            refuse(event, ())
    refuse("open", ("x", "r", 0))


def test_nothing_of_a_page_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        page = (
            f'<!DOCTYPE html SYSTEM "{url}dtd"><link rel="stylesheet" href="{url}c"><iframe '
            f'src="{url}f"></iframe><img src="{url}i"><base href="{url}"><p>text</p>'
        )
        assert "text" in convert(page.encode(), "html", SECONDS)
        with pytest.raises(TimeoutError):
            server.accept()


def test_nothing_is_imported_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "markitdown.py").write_text("raise SystemExit('imported')")
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    load_module._converter.stop()
    monkeypatch.chdir(tmp_path)
    assert convert(b"a\n1\n", "csv", SECONDS) == "| a |\n| --- |\n| 1 |"


@pytest.mark.filterwarnings("ignore")  # the process that converts shows none to anybody
def test_whatever_the_libraries_raise_becomes_a_sentence() -> None:
    assert answer(b"a\n1\n", "csv") == (True, "| a |\n| --- |\n| 1 |")
    fine, reason = answer(b"junk", "docx")
    assert not fine
    assert "BadZipFile" in reason


# ── From a folder to results ─────────────────────────────────────────────────


def test_results_name_the_page_slide_or_sheet_and_broken_files_are_reported(tmp_path: Path) -> None:
    rows = [[f"row {number}", f"figure {number}"] for number in range(60)]
    long = " ".join(f"filler{number}" for number in range(60))
    vault = tmp_path / "vault"
    vault.mkdir()
    files = {
        "report.pdf": pdf(f"The anemometer {long}", f"The barometer {long}"),
        "letter.docx": docx(("Heading1", "Letter"), ("Normal", f"The hygrometer {long}")),
        "deck.pptx": pptx(),
        "book.xlsx": xlsx(Costs=[*rows, ["thermometer", 3]], Sales=[*rows, ["ceilometer", 4]]),
        "list.csv": b"name,note\npyranometer,new\n",
        "page.html": b"<h1>Site</h1><h2>Part</h2><p>The disdrometer stands there.</p>",
        "broken.docx": b"PK\x03\x04 no more",
        "broken.pdf": b"%PDF-1.7\n1 0 obj <<",
    }
    for name, data in files.items():
        (vault / name).write_bytes(data)
    engine = open_engine(vault, tmp_path / "index")
    report = engine.index()
    assert {item.id for item in report.left_out} == {"broken.docx", "broken.pdf"}
    assert all(item.whole and item.reason.endswith(".") for item in report.left_out)
    assert (report.added, report.complete) == (6, False)
    found = {
        word: engine.search(SearchRequest(word, changes={"search.mode": "keyword"})).hits[0]
        for word in ("barometer", "hygrometer", "potatoes", "ceilometer", "pyranometer")
    }
    assert (found["barometer"].document, found["barometer"].header_path) == (
        "report.pdf",
        ("Page 2",),
    )
    assert (found["barometer"].place, found["barometer"].headings) == ("report.pdf p. 2", ())
    assert "barometer" in engine.get("report.pdf p. 2").text
    assert "anemometer" not in engine.get("report.pdf p. 2").text
    assert found["hygrometer"].header_path == ("Letter",)
    assert found["potatoes"].document == "deck.pptx"
    assert (found["ceilometer"].document, found["ceilometer"].header_path) == (
        "book.xlsx",
        ("Sales",),
    )
    assert found["pyranometer"].document == "list.csv"
    assert engine.search(SearchRequest("disdrometer")).hits[0].header_path[0] == "Site"
