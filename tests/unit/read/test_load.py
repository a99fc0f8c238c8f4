import codecs
import errno
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.load import load
from dowse._model import SourceFile, SourceText

Write = Callable[..., SourceFile]


@pytest.fixture
def write(folder: Path) -> Write:
    """Makes a source with these bytes."""

    def make(data: bytes, name: str = "x.md") -> SourceFile:
        path = folder / name
        path.write_bytes(data)
        return SourceFile(name, str(path), len(data), 0)

    return make


def text_of(source: SourceFile) -> str:
    return load(source, ReadOptions()).text


def reason_for(source: SourceFile, options: ReadOptions | None = None) -> str:
    with pytest.raises(Unreadable) as caught:
        load(source, options or ReadOptions())
    return caught.value.reason


def test_text_and_digest(write: Write) -> None:
    data = "# Grüße\n\n日本 🦔\n".encode()
    assert load(write(data), ReadOptions()) == SourceText(
        data.decode(), hashlib.sha256(data).hexdigest()
    )


def test_an_empty_file_is_an_empty_text(write: Write) -> None:
    assert load(write(b""), ReadOptions()) == SourceText("", hashlib.sha256(b"").hexdigest())


def test_line_ends_become_line_feeds_and_the_digest_is_of_the_bytes(write: Write) -> None:
    data = b"a\r\nb\rc\nd\r\r\n\ne\x0bf\xe2\x80\xa8g"
    result = load(write(data), ReadOptions())
    assert result.text == "a\nb\nc\nd\n\n\ne\x0bf\u2028g"
    assert result.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_marks_are_honoured_and_taken_off(
    write: Write, mark: bytes, encoding: str
) -> None:
    text = "# é 🦔\r\nzwei"
    assert text_of(write(mark + text.encode(encoding))) == "# é 🦔\nzwei"
    assert text_of(write(mark)) == ""


def test_a_mark_inside_the_text_stays(write: Write) -> None:
    assert text_of(write("a\ufeffb".encode())) == "a\ufeffb"


def test_a_megabyte(write: Write) -> None:
    text = "Zeile mit Umläuten äöü\n" * 45_000
    assert text_of(write(text.encode())) == text


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"text\n\0\1\2", ["binary", "offset 5", "line 2"]),
        ("ohne Marke".encode("utf-16-le"), ["binary"]),
        (codecs.BOM_UTF16_LE + b"a\0\0\0", ["binary"]),
        ("one\r\ncafé ".encode() + b"\xe9\n", ["not UTF-8", "0xE9", "offset 11", "line 2"]),
        (b"\x81\x8d\x8f\x90\x9d" * 20, ["not UTF-8", "0x81", "offset 0", "line 1"]),
        (codecs.BOM_UTF8 + b"ab\xff", ["not UTF-8", "offset 5", "line 1"]),
        (codecs.BOM_UTF16_LE + b"a\0b", ["UTF-16-LE", "save it as UTF-8"]),
        (codecs.BOM_UTF16_BE + b"\xd8\x00\x00a", ["UTF-16-BE"]),
        (b"\xed\xa0\x80", ["not UTF-8"]),
    ],
)
def test_what_is_no_text_says_where(write: Write, data: bytes, parts: list[str]) -> None:
    reason = reason_for(write(data))
    assert all(part in reason for part in parts)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_western_text_is_recognised(write: Write, encoding: str) -> None:
    text = "Café à la crème.\nGröße: 5 µm, “quoted”" if encoding == "cp1252" else "Café §5 – naïf"
    text = text.replace("–", "-") if encoding == "latin-1" else text
    result = load(write(text.encode(encoding)), ReadOptions())
    assert (result.text, result.encoding) == (text, "Windows-1252")


def test_other_encodings_are_not_guessed(write: Write) -> None:
    assert "not UTF-8" in reason_for(write("Привет, мир".encode("cp1251")))
    assert "not UTF-8" in reason_for(write("日本語のテキスト".encode("shift-jis")))


@pytest.mark.parametrize("words", ["テスト", "これはペンです", "天気予報", "電池の交換"])
def test_english_with_japanese_in_shift_jis_is_not_guessed(write: Write, words: str) -> None:
    text = f"# Manual\n\nThe label of the switch says {words}, and it's on the left side."
    assert "not UTF-8" in reason_for(write(text.encode("shift-jis")))


@pytest.mark.parametrize(
    "text",
    ["It’s what we don’t know.", "Le célèbre été: “I” ‘x’", "ƒ(x) and ƒ100", "‚Zitat‘ — „Größe“"],
)
def test_western_text_is_not_taken_for_shift_jis(write: Write, text: str) -> None:
    assert load(write(text.encode("cp1252")), ReadOptions()).text == text


def test_a_file_that_vanished(write: Write) -> None:
    source = write(b"x")
    source.path.unlink()
    assert "vanished" in reason_for(source)


def test_a_folder_that_vanished(folder: Path) -> None:
    (folder / "a").write_text("now a file")
    assert "vanished" in reason_for(SourceFile("a/x.md", str(folder / "a/x.md"), 1, 0))


def test_a_file_that_grew(write: Write) -> None:
    source = write(b"x" * 11)
    assert "11 bytes" in reason_for(source, ReadOptions(max_bytes=10))
    assert text_of(source) == "x" * 11


def test_a_file_that_grows_while_it_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(b"x")
    monkeypatch.setattr(os, "read", lambda _, size: b"y" * min(size, 4))
    assert "limit is 10" in reason_for(source, ReadOptions(max_bytes=10))


def test_permission_denied(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(b"x")
    real = os.open

    def refuse(path: os.PathLike[str], flags: int) -> int:
        if path == source.path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags)

    monkeypatch.setattr(os, "open", refuse)
    assert "permission denied" in reason_for(source)


def test_a_disk_error_while_reading(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(b"x")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    assert "input/output error" in reason_for(source)


def test_a_pipe_in_its_place_does_not_block(write: Write) -> None:
    source = write(b"x")
    source.path.unlink()
    os.mkfifo(source.path)
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(reason_for(source)), daemon=True)
    reader.start()
    reader.join(10)
    assert answers == ["It is not a regular file."]


def test_a_folder_in_its_place(folder: Path) -> None:
    (folder / "x.md").mkdir()
    assert "not a regular file" in reason_for(SourceFile("x.md", str(folder / "x.md"), 1, 0))


def test_a_link_in_its_place_is_not_followed(write: Write, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    source = write(b"x")
    source.path.unlink()
    source.path.symlink_to(tmp_path / "secret.md")
    assert "link has taken its place" in reason_for(source)


def test_a_link_in_the_place_of_a_folder_is_not_followed(
    plant: Callable[..., Path], tmp_path: Path
) -> None:
    folder = plant("a/b/x.md")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x.md").write_text("secret")
    (folder / "a/b").rename(folder / "a/old")
    (folder / "a/b").symlink_to(tmp_path / "elsewhere")
    assert "link has taken" in reason_for(SourceFile("a/b/x.md", str(folder / "a/b/x.md"), 1, 0))


def test_files_are_opened_for_reading_only(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    flags: list[int] = []
    real = os.open

    def spy(path: os.PathLike[str], how: int) -> int:
        flags.append(how)
        return real(path, how)

    source = write(b"x")
    monkeypatch.setattr(os, "open", spy)
    text_of(source)
    assert flags
    assert not any(how & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) for how in flags)


def test_a_file_that_is_converted_to_a_very_long_text_is_left_out(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(load.__globals__, "convert", lambda *_: "x" * 1001)
    source = write(b"small", "a.csv")

    with pytest.raises(Unreadable, match="Its text has 1,001 characters, the limit is 1,000"):
        load(source, ReadOptions(max_bytes=1000))
    assert len(load(source, ReadOptions(max_bytes=1001)).text) == 1001
