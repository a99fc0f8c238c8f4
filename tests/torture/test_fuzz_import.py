"""Fuzzing of import files: whatever is in them, an error that says why, or a project that works."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dowse._embed.options import EmbedOptions
from dowse._project.archive.archive import export_project
from dowse._project.archive.import_ import MAY_SET, import_project
from dowse._project.registry import Project
from dowse._project.workspace import Given, Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations
from dowse.errors import DowseError, UsageError
from dowse.testing import HashEmbedder

CORPUS = Path(__file__).with_name("corpus") / "import"
"""Files that broke an import once, and some seeds."""

_PARTS = ("documents.jsonl", "chunks.jsonl", "vocabulary.jsonl")
_RAW = "raw JSON goes here"  # stands for text that no JSON library would write

Parts = dict[str, bytes]


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DOWSE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user who has nothing yet."""
    where = Locations(*(tmp_path / "own" / one for one in ("config", "data", "cache")))
    return Workspace(where, Given(HashEmbedder(8)))


@pytest.fixture
def honest(workspace: Workspace, tmp_path: Path) -> bytes:
    """A small export, of a project that is removed again."""
    (tmp_path / "notes").mkdir()
    for name in ("a", "b"):
        text = f"---\ntags: [x]\n---\n# {name}\n\nWords of {name}.\n"
        (tmp_path / "notes" / f"{name}.md").write_text(text, "utf-8")
        os.utime(tmp_path / "notes" / f"{name}.md", (10**9, 10**9))
    project = workspace.projects.add([tmp_path / "notes"])
    with workspace.open(project) as engine:
        engine.index()
    export_project(workspace, project, tmp_path / "x")
    workspace.projects.remove("notes")
    return (tmp_path / "x").read_bytes()


# ── What is done to a file ───────────────────────────────────────────────────


def _nasty(rng: random.Random) -> Any:
    """A value that belongs nowhere."""
    depth = rng.choice([10, 500, 2000, 100_000])
    return rng.choice(
        [
            None,
            True,
            -1,
            0,
            2**31,
            2**63,
            2**64,
            10**300,
            1e308,
            [],
            {},
            "",
            "x" * rng.choice([100, 300, 70_000]),
            "\U0001d49c" * 64,
            "../../etc/passwd",
            "/etc/passwd",
            "~/x",
            "C:\\x",
            "a/../b",
            "https://user:pass@127.0.0.1:9/?key=x",
            "\u202e\x1b[31m",
            "\x00",
            "con",
            ".",
            [None] * 50,
            {"a": {"b": []}},
            [f"root{number}" for number in range(3000)],
            (_RAW, "[" * depth + "]" * depth),
            (_RAW, '{"a":' * depth + "1" + "}" * depth),
            (_RAW, "9" * rng.choice([400, 5000, 100_000])),
            (_RAW, "1e999999"),
            (_RAW, "NaN"),
            (_RAW, '"\\ud800"'),
        ]
    )


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON tree."""
    if not isinstance(tree, dict | list):
        return [path]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [path, *(place for key, one in items for place in _places(one, (*path, key)))]


def _changed(data: bytes, rng: random.Random) -> bytes:
    """A JSON document with one value replaced, removed or added."""
    tree = json.loads(data)
    *above, key = rng.choice(_places(tree)[1:])
    parent = tree
    for one in above:
        parent = parent[one]
    value = _nasty(rng)
    raw = value[1] if isinstance(value, tuple) else ""
    value = _RAW if raw else value
    match rng.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[rng.choice(["provider", "endpoint_url", "api_key_env", "x", ""])] = value
        case _:
            parent[key] = value
    return json.dumps(tree).replace(json.dumps(_RAW), raw).encode()


def change_manifest(parts: Parts, rng: random.Random) -> Parts:
    """Another manifest."""
    return parts | {"manifest.json": _changed(parts["manifest.json"], rng)}


def change_line(parts: Parts, rng: random.Random) -> Parts:
    """Another line in one of the files, with a checksum that fits."""
    name = rng.choice(_PARTS)
    lines = parts[name].splitlines() or [b'{"word": "x", "vector": ""}']
    place = rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            lines.insert(place, rng.choice(lines))
        case 1:
            del lines[place]
        case 2:
            lines[place] = lines[place][: rng.randrange(len(lines[place]))]
        case _:
            lines[place] = _changed(lines[place], rng)
    return _sealed(parts | {name: b"".join(line + b"\n" for line in lines)})


def _sealed(parts: Parts) -> Parts:
    head = json.loads(parts["manifest.json"])
    for name in _PARTS:
        digest = hashlib.sha256(parts[name]).hexdigest()
        head["parts"][name] = {"bytes": len(parts[name]), "sha256": digest}
    return parts | {"manifest.json": json.dumps(head).encode()}


def add_member(parts: Parts, rng: random.Random) -> Parts:
    """A file that no export holds."""
    name = rng.choice(["../evil", "/etc/evil", "x", "a/b", "manifest.json/", "\u202e"])
    return parts | {name: b"x"}


def _unzipped(data: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _zipped(parts: Parts) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return target.getvalue()


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """The file with bits flipped, a piece lost or doubled, or its end missing."""
    piece = slice(*sorted((rng.randrange(len(data)), rng.randrange(len(data)))))
    match rng.randrange(4):
        case 0:
            return data[: rng.randrange(len(data))]
        case 1:
            return data[: piece.start] + data[piece.stop :]
        case 2:
            return data[: piece.stop] + data[piece.start :]
        case _:
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 5)):
                # Most of them in the list of files, at the end.
                at = -rng.randrange(1, 300) if rng.random() < 0.7 else rng.randrange(len(data))
                changed[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            return bytes(changed)


def fuzzed(honest: bytes, seed: int) -> bytes:
    """The same file, changed in one of many ways."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return damage_bytes(honest, rng)
    change = rng.choice([change_manifest, change_manifest, change_line, change_line, add_member])
    return _zipped(change(_unzipped(honest), rng))


# ── What must hold ───────────────────────────────────────────────────────────


def _state(workspace: Workspace) -> set[str]:
    return {str(path) for path in workspace.locations.data.rglob("*")}


def _imported(workspace: Workspace, file: Path) -> Project | DowseError:
    try:
        return import_project(workspace, file).project
    except DowseError as error:
        return error


def check_import(workspace: Workspace, file: Path) -> bool:
    """Imports a file; gives whether that worked. Anything but a clear error is a failure."""
    before = _state(workspace)
    done = _imported(workspace, file)
    if isinstance(done, DowseError):
        assert done.message
        assert done.hint
        assert len(str(done)) < 5000 + len(str(file))
        assert _state(workspace) == before
        return False
    chosen = workspace.settings(done)
    assert chosen.origins.keys() <= MAY_SET.keys()
    assert chosen.settings.embed.endpoint_url == EmbedOptions().endpoint_url
    with workspace.open(done) as engine:
        engine.search(SearchRequest("words"))
        engine.status()
        assert engine.check() == []
    workspace.projects.remove(done.name)
    return True


@pytest.mark.takes(32)
def test_fuzzed_import_files_give_a_clear_error_or_a_project(
    workspace: Workspace,
    honest: bytes,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    file, taken, count = tmp_path / "fuzzed", 0, rounds(20, 1000)
    for seed in range(count):
        file.write_bytes(fuzzed(honest, seed))
        try:
            taken += check_import(workspace, file)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert 0 < taken < count
    tally("import files fuzzed", count)
    tally("of them refused with a reason", count - taken)


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.iterdir()))
def test_files_of_the_corpus_give_a_clear_error_or_a_project(
    workspace: Workspace, name: str
) -> None:
    taken = check_import(workspace, CORPUS / name)
    assert taken == name.startswith("fine-")


# ── Files that would take all memory ─────────────────────────────────────────


def _many_chunks(parts: Parts, count: int) -> Parts:
    """A document with far more chunks than its text could have."""
    first, *rest = parts["chunks.jsonl"].splitlines()
    pattern = json.dumps(json.loads(first) | {"text": "@"}).encode()
    lines = [pattern.replace(b"@", b"%d" % number) for number in range(count)]
    return _sealed(parts | {"chunks.jsonl": b"\n".join([first, *lines, *rest]) + b"\n"})


def _many_tags(parts: Parts, count: int) -> Parts:
    """A document that claims very many tags."""
    first, *rest = parts["documents.jsonl"].splitlines()
    line = json.loads(first)
    line["fields"]["tags"] = [f"{number:x}" for number in range(count)]
    return _sealed(parts | {"documents.jsonl": b"\n".join([json.dumps(line).encode(), *rest])})


def _most_memory(workspace: Workspace, file: Path, parts: Parts) -> int:
    """Bytes that an import of a file takes at most, as far as Python knows."""
    file.write_bytes(_zipped(parts))
    tracemalloc.start()
    try:
        import_project(workspace, file, replace=True)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_chunks_that_no_text_has_take_no_memory(
    workspace: Workspace, honest: bytes, tmp_path: Path
) -> None:
    parts, file = _unzipped(honest), tmp_path / "bomb"
    few, many = (
        _most_memory(workspace, file, _many_chunks(parts, count)) for count in (2_000, 20_000)
    )
    assert many < 2 * few


def test_fields_that_are_not_read_take_no_memory(
    workspace: Workspace, honest: bytes, tmp_path: Path
) -> None:
    parts = _many_tags(_unzipped(honest), 200_000)
    most = _most_memory(workspace, tmp_path / "bomb", parts)
    assert most < 4 * len(parts["documents.jsonl"]) + 2_000_000


def test_a_list_of_files_without_end_is_not_read(
    workspace: Workspace, honest: bytes, tmp_path: Path
) -> None:
    many = {f"{number:x}": b"" for number in range(25_000)}
    (tmp_path / "bomb").write_bytes(_zipped(_unzipped(honest) | many))
    with pytest.raises(UsageError, match="list of files is too long"):
        import_project(workspace, tmp_path / "bomb")
