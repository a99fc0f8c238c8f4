"""Trees that nobody wants to meet."""

import hashlib
import os
import socket
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.load import load
from dowse._index.source.walk import Walk

Plant = Callable[..., Path]
Ids = Callable[..., list[str]]
Look = Callable[..., Walk]


def reasons(result: Walk) -> dict[str, str]:
    return {item.id: item.reason for item in result.left_out}


# ── Links ────────────────────────────────────────────────────────────────────


def test_links_that_loop_are_survived_and_reported(plant: Plant, found: Look) -> None:
    folder = plant("a/b/x.md")
    (folder / "a/b/up").symlink_to(folder / "a")
    (folder / "top").symlink_to(folder)
    (folder / "self.md").symlink_to("self.md")
    (folder / "ping").symlink_to("pong")
    (folder / "pong").symlink_to("ping")
    result = found()
    assert [source.id for source in result.sources] == ["a/b/x.md"]
    assert list(reasons(result)) == ["a/b/up", "ping", "pong", "self.md", "top"]


def test_links_that_lead_out_are_reported_and_not_followed(
    plant: Plant, found: Look, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("secret")
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2/near.md").write_text("a name that starts like the root's")
    folder = plant("a.md")
    (folder / "folder").symlink_to(tmp_path / "outside")
    (folder / "file.md").symlink_to(tmp_path / "outside/secret.md")
    (folder / "near.md").symlink_to(tmp_path / "root2/near.md")
    (folder / "image.png").symlink_to(tmp_path / "outside/secret.md")
    result = found()
    assert [source.id for source in result.sources] == ["a.md"]
    assert list(reasons(result)) == ["file.md", "folder", "near.md"]


def test_a_link_to_what_is_found_anyway_adds_nothing(plant: Plant, ids: Ids) -> None:
    folder = plant("AGENTS.md", "v2/a.md")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    (folder / "latest").symlink_to("v2")
    assert ids() == ["AGENTS.md", "v2/a.md"]
    assert ids(folder / "CLAUDE.md", folder / "latest/a.md") == []


def test_a_link_to_a_hidden_place_is_the_way_to_it(plant: Plant, found: Look) -> None:
    folder = plant(".store/notes/a.md", ".store/notes/deep/b.md", ".store/blob", "c.md")
    (folder / "notes").symlink_to(".store/notes")
    (folder / "blob.md").symlink_to(".store/blob")
    result = found()
    assert [source.id for source in result.sources] == [
        "blob.md",
        "c.md",
        "notes/a.md",
        "notes/deep/b.md",
    ]
    assert result.left_out == ()
    assert result.linked == (folder / ".store/blob", folder / ".store/notes")
    assert all(load(source, ReadOptions()).text == "text" for source in result.sources)
    within = found((folder / "notes/deep/b.md",))
    assert [source.id for source in within.sources] == ["notes/deep/b.md"]


def test_links_in_hidden_places_cannot_multiply(plant: Plant, found: Look) -> None:
    folder = plant(*(f".h/{n}/x{n}.md" for n in range(12)))
    for n in range(12):
        (folder / f"l{n:02}").symlink_to(f".h/{n}")
        for m in range(12):
            (folder / f".h/{n}/to{m}").symlink_to(f"../{m}")
    result = found()
    assert [source.id for source in result.sources] == sorted(f"l{n:02}/x{n}.md" for n in range(12))
    assert len(result.left_out) == 12  # each folder's link to itself


def test_links_are_not_followed_on_request(plant: Plant, ids: Ids, tmp_path: Path) -> None:
    folder = plant(".store/a.md", "b.md")
    (folder / "store").symlink_to(".store")
    (folder / "out").symlink_to(tmp_path)
    assert ids(follow_symlinks=False) == ["b.md"]


def test_ignored_links_are_silent(plant: Plant, ids: Ids, tmp_path: Path) -> None:
    folder = plant("b.md", **{".gitignore": "out/\ngone.md\nloop"})
    (folder / "out").symlink_to(tmp_path)
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    (folder / "gone.png").symlink_to("nowhere")
    assert ids() == ["b.md"]


def test_a_dead_link_is_reported(plant: Plant, found: Look) -> None:
    (plant("a.md") / "dead.md").symlink_to("nowhere.md")
    assert list(reasons(found())) == ["dead.md"]


def test_include_patterns_hold_for_links_by_their_own_name(plant: Plant, ids: Ids) -> None:
    folder = plant("private/a.md", "private/b.md")
    (folder / "public").mkdir()
    (folder / "public/a.md").symlink_to("../private/a.md")
    (folder / "shown").symlink_to("private")
    assert ids(include=("public/",)) == ["public/a.md"]
    assert ids(include=("shown/",)) == ["shown/a.md", "shown/b.md"]


# ── Things that are not files ────────────────────────────────────────────────


def test_pipes_and_sockets_never_block(folder: Path, plant: Plant, found: Look) -> None:
    plant("a.md", "sub/b.md")
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "sub/.gitignore")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "s.md"))
        result = found()
    assert [source.id for source in result.sources] == ["a.md", "sub/b.md"]
    assert list(reasons(result)) == ["pipe.md", "s.md"]


def test_a_folder_with_a_files_ending_is_a_folder(plant: Plant, ids: Ids) -> None:
    plant("book.md/chapter.md")
    assert ids() == ["book.md/chapter.md"]


# ── What the system refuses ──────────────────────────────────────────────────


def test_a_folder_that_cannot_be_opened_is_reported(
    plant: Plant, found: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plant("a.md", "closed/b.md", "gone/c.md")
    real = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        if path == str(folder / "closed"):
            raise PermissionError(13, "Permission denied")
        if path == str(folder / "gone"):
            raise FileNotFoundError(2, "No such file")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = found()
    assert [source.id for source in result.sources] == ["a.md"]
    assert list(reasons(result)) == ["closed"]
    assert "permission denied" in reasons(result)["closed"]


def test_a_root_that_cannot_be_opened_is_reported(
    plant: Plant, found: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plant("a.md")

    def scandir(_: str) -> Iterator[os.DirEntry[str]]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", scandir)
    assert list(reasons(found())) == [str(folder)]


# ── Names ────────────────────────────────────────────────────────────────────


def test_odd_names_are_ordinary(plant: Plant, ids: Ids) -> None:
    names = ["a b.md", "-rf.md", "line\nbreak.md", "🦔.md", "q?*[x].md", "#tag.md", "%20.md"]
    names += ["back\\slash.md", "tab\t.md", "日本語/ノート.md", "a" * 250 + ".md", " .md", "@x.md"]
    plant(*names)
    assert ids() == sorted(names)


def test_names_that_are_no_text_are_left_out_readably(folder: Path, found: Look) -> None:
    for name in (b"bad\xff.md", b"bad\xff.png", b"ok.md"):
        (folder / os.fsdecode(name)).touch()
    (folder / os.fsdecode(b"\xe9t\xe9")).mkdir()
    result = found()
    assert [source.id for source in result.sources] == ["ok.md"]
    assert list(reasons(result)) == ["\\xe9t\\xe9", "bad\\xff.md"]
    assert all(item.id.encode() for item in result.left_out)


def test_ids_are_composed_and_of_twins_one_is_left_out(plant: Plant, found: Look) -> None:
    composed, split = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    folder = plant(composed, split, unicodedata.normalize("NFD", "é/à.md"))
    result = found()
    assert [source.id for source in result.sources] == [composed, "é/à.md"]
    assert result.sources[0].path == folder / split  # its bytes come first
    assert list(reasons(result)) == [composed]


# ── Size ─────────────────────────────────────────────────────────────────────


def test_three_hundred_levels(folder: Path, ids: Ids) -> None:
    deep = folder
    for _ in range(300):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "x.md").touch()
    assert ids() == ["d/" * 300 + "x.md"]


def test_paths_longer_than_the_system_allows_are_reported(folder: Path, found: Look) -> None:
    here = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(25):
            Path("n" * 200).mkdir()
            os.chdir("n" * 200)
    finally:
        os.chdir(here)
    result = found()
    assert len(result.left_out) == 1
    assert "too long" in result.left_out[0].reason


def test_five_thousand_files_are_walked_at_once(folder: Path, ids: Ids) -> None:
    for group in range(50):
        (folder / f"g{group:02}").mkdir()
        for number in range(100):
            (folder / f"g{group:02}/{number:03}.md").touch()
    (folder / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n")
    began = time.perf_counter()
    assert len(ids()) == 5000
    assert time.perf_counter() - began < 10


# ── Never writes ─────────────────────────────────────────────────────────────


def test_nothing_is_written(plant: Plant, folder: Path, found: Look) -> None:
    plant("a.md", "b/c.txt", "d.csv", **{".gitignore": "x", "e.html": "<p>x</p>"})
    before = fingerprint(folder)
    for source in found().sources:
        load(source, ReadOptions())
    assert fingerprint(folder) == before


def fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest.update(f"{path} {status.st_mode} {status.st_mtime_ns} {status.st_ino}".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
