"""`dowse doctor`."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from command_line import Dowse
from dowse._model import Finding
from dowse._store.files import writer_lock
from dowse._store.store import EmbeddedStore


def _index(home: Path) -> Path:
    return home / "own/data/projects/vault/index"


@pytest.mark.usefixtures("indexed")
def test_all_is_well(dowse: Dowse) -> None:
    result = dowse("doctor")
    assert result.code == 0, result.out
    assert "All is well." in result.out
    for about in ("Python", "SQLite", "Packages", "Config", "Data", "Cache", "Project vault"):
        assert about in result.out
    shape = dowse("doctor", "--json").json
    assert shape["findings"] == []
    assert {"about", "found", "findings"} == shape["checks"][0].keys()


@pytest.mark.usefixtures("indexed")
def test_packages_are_checked_against_the_versions_that_this_python_needs(
    dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = [
        "click>=8",
        "numpy<1,>=0.5",
        "no-such-package>=2; python_version >= '3.11'",
        "no-such-package>=3; python_version < '3.11'",
        'click>=999; extra == "formats"',
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needed)
    checks = dowse("doctor", "--json").json["checks"]
    (check,) = [one for one in checks if one["about"] == "Packages"]
    assert check["found"].startswith("3 needed")
    assert [one["repair"] for one in check["findings"]] == [
        'pip install --upgrade "numpy<1,>=0.5"',
        'pip install --upgrade "no-such-package>=2"',
    ]


@pytest.mark.parametrize("part", ["keyword", "vectors"])
@pytest.mark.usefixtures("indexed")
def test_a_damaged_replica_is_found_and_repaired(home: Path, dowse: Dowse, part: str) -> None:
    replicas = [path for path in _index(home).iterdir() if part[:6] in path.name]
    assert replicas
    files = [file for one in replicas for file in ([one] if one.is_file() else one.rglob("*"))]
    for file in files:
        if file.is_file() and file.stat().st_size:
            file.write_bytes(file.read_bytes()[:-1])
    result = dowse("doctor")
    assert result.code == 1
    assert "dowse doctor --repair -p vault" in result.out
    assert dowse("search", "restore").code in {0, 4}
    assert dowse("doctor", "--repair").code == 0
    assert dowse("search", "restore", "--json").json["hits"]


@pytest.mark.usefixtures("indexed")
def test_a_damaged_database_can_be_rebuilt_by_the_command_that_is_named(
    home: Path, dowse: Dowse
) -> None:
    for file in _index(home).glob("index.db*"):
        file.write_bytes(b"nonsense" * 2000)
    refused = dowse("search", "restore")
    assert refused.code == 4
    result = dowse("doctor")
    assert result.code == 1
    assert "dowse index --rebuild -p vault" in result.out
    assert dowse("index", "--rebuild", "-p", "vault").code == 0
    assert dowse("doctor").code == 0
    assert dowse("search", "restore", "--json").json["hits"]


def test_a_folder_that_is_gone_is_found(indexed: Path, dowse: Dowse) -> None:
    shutil.rmtree(indexed)
    result = dowse("doctor")
    assert result.code == 1
    assert f"{indexed} does not exist." in result.out


def test_a_project_that_cannot_be_entered_does_not_hide_the_others(
    indexed: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dowse("index", indexed / "guides", "-p", "closed").code == 0
    check = EmbeddedStore.check

    def refuse(store: EmbeddedStore) -> list[Finding]:
        if "closed" in str(store._folder):
            raise PermissionError(errno.EACCES, "Permission denied", str(store._folder))
        return check(store)

    monkeypatch.setattr(EmbeddedStore, "check", refuse)
    result = dowse("doctor", "--json")
    assert result.code == 1
    found = {one["about"]: one for one in result.json["checks"]}
    assert found["Project vault"]["findings"] == []
    (finding,) = found["Project closed"]["findings"]
    assert "Permission denied" in finding["what"]
    assert finding["repair"] == "Check its permissions."


def test_a_project_of_which_nothing_can_be_read_does_not_hide_the_others(
    home: Path, indexed: Path, dowse: Dowse
) -> None:
    assert dowse("index", indexed / "guides", "-p", "closed").code == 0
    file = home / "own/data/projects/closed/project.toml"
    file.write_bytes(b"\xff\x00" * 50)
    shape = dowse("doctor", "--json").json
    found = {one["about"]: one for one in shape["checks"]}
    assert found["Project vault"]["findings"] == []
    (finding,) = shape["findings"]
    assert str(file) in finding["what"]
    advice = finding["repair"].rpartition("with: dowse ")[2].split()
    assert advice == ["project", "restore", "closed"]
    assert dowse(*advice).code == 0
    assert dowse("doctor").code == 0


@pytest.mark.usefixtures("indexed")
def test_a_writer_at_work_is_named_and_no_finding(home: Path, dowse: Dowse) -> None:
    with writer_lock(_index(home), wait=0):
        result = dowse("doctor")
    assert result.code == 0
    assert "is being written by process" in result.out


def test_a_project_that_is_not_indexed_is_found(vault: Path, dowse: Dowse) -> None:
    assert dowse("project", "add", vault).code == 0
    result = dowse("doctor")
    assert result.code == 1
    assert "dowse index -p vault" in result.out


@pytest.mark.usefixtures("indexed")
def test_other_settings_are_found(dowse: Dowse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_CHUNK_STRATEGY", "fixed")
    result = dowse("doctor")
    assert result.code == 1
    assert "dowse index --rebuild -p vault" in result.out
    assert "chunk.strategy" in result.out


@pytest.mark.usefixtures("indexed")
def test_the_model_of_each_project_is_looked_at(
    dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOWSE_EMBED_PROVIDER")
    dowse("config", "set", "embed.provider", "none")
    dowse("config", "set", "-p", "vault", "embed.provider", "local")
    dowse("config", "set", "-p", "vault", "embed.model", "somebody/some-model")
    shape = dowse("doctor", "--json").json
    assert [check["found"][:19] for check in shape["checks"] if check["about"] == "Model"] == [
        "none: embed.provide",
        "somebody/some-model",
    ]
    repairs = [finding["repair"] for finding in shape["findings"]]
    assert "dowse models pull somebody/some-model" in repairs


@pytest.mark.usefixtures("indexed")
def test_what_a_killed_import_left_is_found_and_removed(home: Path, dowse: Dowse) -> None:
    left = home / "own" / "data" / "import-killed"
    left.mkdir()
    (left / "lock").touch()
    found = dowse("doctor", "--json")
    assert found.code == 1
    assert found.json["findings"][0]["repair"] == "dowse doctor --repair"
    with FileLock(left / "lock"):
        assert dowse("doctor", "--repair").code == 0  # somebody is importing
        assert left.exists()
    repaired = dowse("doctor", "--repair")
    assert repaired.code == 0
    assert "removed" in repaired.out
    assert not left.exists()


@pytest.mark.usefixtures("indexed")
def test_telemetry_that_a_user_wants_is_reported(
    dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Telemetry" in dowse("doctor").out
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    assert "onnxruntime's is on" in dowse("doctor").out
