"""Every finding of `dowse doctor` is made, and its own advice is followed: then all is well."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command_line import Dowse

Damage = Callable[[Path], object]
"""Harms the folder of a project."""

_QUERIES = ("restore the database", "station frame", "barometer of part 7", "getStationById")


def _one(folder: Path, pattern: str) -> Path:
    return min(path for path in folder.glob(pattern) if not path.name.startswith("."))


def _replace(path: Path, with_: str) -> None:
    """Puts a folder, a link to itself or some bytes where a file or a folder is."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if with_ == "folder":
        path.mkdir()
    elif with_ == "loop":
        path.symlink_to(path)
    elif with_ == "text":
        path.write_text("Nothing of dowse's.")


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def _sql(statement: str) -> Damage:
    def harm(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "index/index.db", isolation_level=None)) as database:
            database.execute(statement)

    return harm


_FILES = {
    "database": "index/index.db",
    "keyword manifest": "index/keyword.json",
    "vector manifest": "index/vectors.json",
    "keyword meta": "index/keyword-*/meta.json",
    "keyword terms": "index/keyword-*/*.term",
    "keyword postings": "index/keyword-*/*.idx",
    "vector rows": "index/vectors-*/vectors-*.npy",
    "vector keys": "index/vectors-*/keys-*.npy",
}

_HARMS: dict[str, Callable[[Path], None]] = {
    "truncated": _truncate,
    "zeroed": _zero,
    "flipped": _flip,
    "missing": Path.unlink,
    "a folder": lambda path: _replace(path, "folder"),
    "a loop": lambda path: _replace(path, "loop"),
    "another text": lambda path: _replace(path, "text"),
}


def _remove_replicas(folder: Path) -> None:
    for path in list(folder.glob("index/[kv]*-*")):
        shutil.rmtree(path)


def _use_a_foreign_database(folder: Path) -> None:
    (folder / "index/index.db").unlink()
    _sql("CREATE TABLE recipes (name)")(folder)


def _in_file(pattern: str, how: Callable[[Path], None]) -> Damage:
    return lambda folder: how(_one(folder, pattern))


_TO_FILES: dict[str, Damage] = {
    f"{file} {harm}": _in_file(pattern, how)
    for file, pattern in _FILES.items()
    for harm, how in _HARMS.items()
}
_EVERY = 3  # of those, in `make test`: every file and every harm is among them

_TO_PROJECTS: dict[str, Damage] = {
    "replicas missing": _remove_replicas,
    "keyword folder a file": lambda folder: _replace(_one(folder, "index/keyword-*"), "text"),
    "vector folder a loop": lambda folder: _replace(_one(folder, "index/vectors-*"), "loop"),
    "index missing": lambda folder: shutil.rmtree(folder / "index"),
    "index a file": lambda folder: _replace(folder / "index", "text"),
    "index a loop": lambda folder: _replace(folder / "index", "loop"),
    "lock missing": lambda folder: (folder / "index/writer.lock").unlink(),
    "lock a folder": lambda folder: _replace(folder / "index/writer.lock", "folder"),
    "log of nonsense": lambda folder: (folder / "index/index.db-wal").write_bytes(b"nonsense" * 99),
    "other format": _sql("UPDATE meta SET value = '99' WHERE name = 'format'"),
    "no format": _sql("DELETE FROM meta WHERE name = 'format'"),
    "other model": _sql("UPDATE meta SET value = replace(value, 'hash', 'hush')"),
    "no stamp": _sql("DELETE FROM meta WHERE name = 'stamp'"),
    "broken stamp": _sql("UPDATE meta SET value = '{' WHERE name = 'stamp'"),
    "other generation": _sql("UPDATE meta SET value = '999' WHERE name = 'generation'"),
    "no generation": _sql("DELETE FROM meta WHERE name = 'generation'"),
    "other identity": _sql("UPDATE meta SET value = 'x' WHERE name = 'index'"),
    "damaged vectors": _sql("UPDATE embeddings SET vector = zeroblob(length(vector))"),
    "vectors of another kind": _sql("UPDATE embeddings SET vector = 7"),
    "damaged text": _sql("UPDATE documents SET text = replace(text, 'database', 'databaze')"),
    "text of another kind": _sql("UPDATE documents SET text = CAST(text AS BLOB)"),
    "shifted chunks": _sql("UPDATE chunks SET start = start + 1"),
    "missing chunks": _sql("DELETE FROM chunks WHERE key > 5"),
    "other communities": _sql("UPDATE communities SET community = community + 1"),
    "foreign database": _use_a_foreign_database,
}

DAMAGES = {**_TO_FILES, **_TO_PROJECTS}


def _some_damages(step: int) -> dict[str, Damage]:
    files = list(_TO_FILES)[::step]
    return {name: DAMAGES[name] for name in (*files, *_TO_PROJECTS)}


class Patient:
    """A project that is harmed, examined, treated by the book, and compared."""

    def __init__(self, home: Path, dowse: Dowse) -> None:
        self.folder = home / "own/data/projects/notes"
        self._healthy = home / "healthy"
        self._dowse = dowse
        shutil.copytree(self.folder, self._healthy)
        self.expected = self.answers()

    def recover(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._healthy, self.folder)

    def answers(self) -> list[Any]:
        """What is found; keyword scores are compared, too, since nothing was deleted."""
        found = []
        for query in _QUERIES:
            result = self._dowse("search", query, "-p", "notes", "--json")
            if result.code != 0:
                return [result.out + result.err] * len(_QUERIES)
            hits = json.loads(result.out)["hits"]
            found.append(
                [(hit["id"], hit["document"], f"{hit['score']:.5f}", hit["text"]) for hit in hits]
            )
        return found

    def differences(self) -> list[Any]:
        """What is found now and was not, or was found and is no more."""
        pairs = zip(self.answers(), self.expected, strict=True)
        return [(now, before) for now, before in pairs if now != before]

    def findings(self) -> list[dict[str, str]]:
        """What doctor finds with the project; that the model is not here does not matter."""
        result = self._dowse("doctor", "--json")
        assert result.code in {0, 1}, (result.out, result.err)
        checks = [one for one in result.json["checks"] if one["about"].startswith("Project")]
        assert checks
        return [finding for check in checks for finding in check["findings"]]

    def treat(self) -> tuple[list[str], list[Any]]:
        """Follows the advice of each finding, exactly as it is given, until there is none.

        Gives what was followed, and what is still wrong.
        """
        followed: list[str] = []
        for _ in range(3):
            findings = self.findings()
            if not findings:
                return followed, self.differences()
            for line in dict.fromkeys(finding["repair"] for finding in findings):
                followed.append(line)
                command, *arguments = shlex.split(line)
                if command == "dowse":  # otherwise it is no command, and stays a finding
                    self._dowse(*arguments)
        return followed, self.findings() or self.differences()


@pytest.fixture
def projects_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A doctor for projects: the machine and the models are the same in every case."""
    for name in ("check_machine", "check_models"):
        monkeypatch.setattr(f"dowse._interfaces.cli.commands.setup.{name}", lambda *_: ())


@pytest.fixture
def patient(
    home: Path,
    notes: Path,  # noqa: ARG001  must be indexed
    projects_only: None,  # noqa: ARG001
    dowse: Dowse,
) -> Patient:
    dowse("config", "set", "vocabulary.size", "50")
    return Patient(home, dowse)


def test_the_advice_of_every_finding_works(
    patient: Patient, rounds: Callable[[int, int], int]
) -> None:
    failed: dict[str, object] = {}
    for name, harm in _some_damages(rounds(_EVERY, 1)).items():
        patient.recover()
        harm(patient.folder)
        followed, left = patient.treat()
        if left:
            failed[name] = (followed, left)
    assert failed == {}
