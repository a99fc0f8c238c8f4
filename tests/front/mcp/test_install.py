"""`dowse mcp install`: an entry in a client's configuration, and nothing lost from it."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import DOWSE, Dowse
from dowse._interfaces.cli.commands import install as clients
from dowse._interfaces.cli.commands.install import CLIENTS, SKILL, Client
from dowse._interfaces.mcp.tools import TOOLS
from rows import check_rows

_BY_NAME = {one.name: one for one in CLIENTS}


@pytest.fixture(autouse=True)
def usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients are looked for where they are without this variable."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


_OF_JSON = [one for one in CLIENTS if one.form == "json"]
_READERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


def _entry(client: Client, text: str | None = None) -> dict[str, Any]:
    whole = client.path.read_text("utf-8") if text is None else text
    entry = _READERS[client.form](whole)[client.key]["dowse"]
    assert isinstance(entry, dict)
    return entry


def _command(client: Client, entry: dict[str, Any]) -> list[str]:
    command = entry[client.command]
    return list(command) if client.whole else [command, *entry["args"]]


def test_the_entry_is_printed_and_nothing_is_written(dowse: Dowse) -> None:
    def check(client: Client) -> None:
        seen = dowse("mcp", "install", "--client", client.name)
        assert seen.code == 0
        entry = _entry(client, seen.out)
        assert _command(client, entry) == [DOWSE, "mcp"]
        assert entry[client.env]["DOWSE_DATA_DIR"] == os.environ["DOWSE_DATA_DIR"]
        assert str(client.path) in seen.err.replace("\n", "")
        assert not client.path.exists()

    check_rows(CLIENTS, check)


def test_folders_are_passed_on_from_wherever_the_client_starts(
    dowse: Dowse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_CACHE_DIR", "weights")
    seen = json.loads(dowse("mcp", "install", "--client", "cursor").out)
    assert seen["mcpServers"]["dowse"]["env"]["DOWSE_CACHE_DIR"] == str(home / "weights")


def test_a_file_is_made(dowse: Dowse) -> None:
    def check(client: Client) -> None:
        seen = dowse("mcp", "install", "--client", client.name, "--write", "--json").json
        assert seen["written"]
        assert seen["backup"] is None
        assert seen["path"] == str(client.path)
        assert _command(client, _entry(client)) == [DOWSE, "mcp"]
        assert all(_entry(client)[name] == value for name, value in client.says)

    check_rows(_OF_JSON, check)


def test_what_else_is_in_the_file_stays(dowse: Dowse) -> None:
    def check(client: Client) -> None:
        before = {
            "theme": "dunkel ü",
            client.key: {"other": {"command": "x", "args": []}},
            "n": 1.5,
            "costs": [1e-7, 0.00005],
        }
        client.path.parent.mkdir(parents=True, exist_ok=True)
        written = json.dumps(before, indent=4, ensure_ascii=False)
        client.path.write_text(written.replace("5e-05", "0.00005"), "utf-8")
        client.path.chmod(0o600)
        seen = dowse("mcp", "install", "--client", client.name, "--write", "--json").json
        after = json.loads(client.path.read_text("utf-8"))
        assert after[client.key].pop("dowse")
        assert after == before
        assert list(after) == list(before)
        assert "0.00005" in client.path.read_text("utf-8")
        assert '\n    "theme": "dunkel ü"' in client.path.read_text("utf-8")
        assert stat.S_IMODE(client.path.stat().st_mode) == 0o600
        assert json.loads(Path(seen["backup"]).read_text("utf-8")) == before

    check_rows(_OF_JSON, check)


def test_a_second_time_changes_nothing(dowse: Dowse) -> None:
    def check(client: Client) -> None:
        line = ("mcp", "install", "--client", client.name, "--write")
        dowse(*line)
        before = client.path.read_bytes()
        seen = dowse(*line)
        assert "has it already" in seen.out.replace("\n", " ")
        assert client.path.read_bytes() == before
        assert not list(client.path.parent.glob("*before-dowse*"))

    check_rows(_OF_JSON, check)


def test_what_the_user_noted_in_the_entry_stays(dowse: Dowse) -> None:
    def check(client: Client) -> None:
        env = {"HTTPS_PROXY": "p", "DOWSE_CACHE_DIR": "/old"}
        old = {
            "url": "x",
            "disabled": True,
            "enabled": False,
            client.env: env,
            client.command: "old",
        }
        client.path.parent.mkdir(parents=True, exist_ok=True)
        client.path.write_text(json.dumps({client.key: {"dowse": old}}))
        assert dowse("mcp", "install", "--client", client.name, "--write").code == 0
        entry = _entry(client)
        assert (entry["disabled"], entry["enabled"]) == (True, False)
        assert "url" not in entry
        assert _command(client, entry) == [DOWSE, "mcp"]
        assert entry[client.env]["HTTPS_PROXY"] == "p"
        assert entry[client.env]["DOWSE_CACHE_DIR"] == os.environ["DOWSE_CACHE_DIR"]
        assert "has it already" in dowse("mcp", "install", "--client", client.name, "--write").out

    check_rows(_OF_JSON, check)


@pytest.mark.parametrize("name", ["codex", "goose"])
@pytest.mark.parametrize("before", [None, "", "# mine\n"])
def test_toml_and_yaml_are_printed_and_never_written(
    dowse: Dowse, name: str, before: str | None
) -> None:
    client = _BY_NAME[name]
    if before is not None:
        client.path.parent.mkdir(parents=True)
        client.path.write_text(before)
    seen = dowse("mcp", "install", "--client", name, "--write")
    assert seen.code == 2
    assert f"does not change {client.form.upper()}" in " ".join(seen.err.split())
    assert _command(client, _entry(client, seen.out)) == [DOWSE, "mcp"]
    assert (client.path.read_text() if client.path.exists() else None) == before
    assert "--write" not in dowse("mcp", "install", "--client", name).err


def test_an_entry_for_one_folder_is_written_there(dowse: Dowse, home: Path) -> None:
    line = ("mcp", "install", "--scope", "folder", "--write", "--client")
    assert dowse(*line, "claude-code").code == 0
    assert json.loads((home / ".mcp.json").read_text())["mcpServers"]["dowse"]
    assert not _BY_NAME["claude-code"].path.exists()
    refused = dowse(*line, "goose")
    assert refused.code == 2
    assert "claude-code, cursor, vscode" in refused.err.replace("\n", " ")


def test_ends_of_lines_stay_as_they_are(dowse: Dowse) -> None:
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{\r\n\t"a": 1\r\n}\r\n')
    assert dowse("mcp", "install", "--client", "cursor", "--write").code == 0
    written = path.read_bytes()
    assert written.startswith(b'{\r\n\t"a": 1,\r\n\t"mcpServers"')
    assert written.count(b"\r\n") == written.count(b"\n")


def test_a_place_that_cannot_be_written_is_reported(dowse: Dowse, home: Path) -> None:
    (home / "file").write_text("")
    seen = dowse(
        "mcp", "install", "--client", "cursor", "--write", "--file", home / "file" / "mcp.json"
    )
    assert seen.code == 2
    assert "cannot be read" in seen.err.replace("\n", " ")
    assert "Traceback" not in seen.err


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {',
        '{\n  // a comment\n  "mcpServers": {}\n}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}',
        "[]",
        '{"mcpServers": []}',
        "[" * 100_000,
    ],
)
def test_a_file_that_could_lose_something_is_left_alone(dowse: Dowse, text: str) -> None:
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.write_text(text)
    seen = dowse("mcp", "install", "--client", "cursor", "--write")
    assert seen.code == 2
    assert "left as it is" in seen.err.replace("\n", " ")
    assert _entry(_BY_NAME["cursor"], seen.out)  # it is printed, to be put in by hand
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_bytes_that_are_no_text_are_left_alone(dowse: Dowse) -> None:
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"a": "\xff"}')
    assert dowse("mcp", "install", "--client", "cursor", "--write").code == 2
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_an_empty_file_is_as_good_as_none(dowse: Dowse) -> None:
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.write_text("\n")
    assert dowse("mcp", "install", "--client", "cursor", "--write").code == 0
    assert _entry(_BY_NAME["cursor"])


def test_an_older_copy_is_never_overwritten(dowse: Dowse, indexed: Path) -> None:
    assert indexed
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.write_text('{"first": true}')
    dowse("mcp", "install", "--client", "cursor", "--write")
    dowse("mcp", "install", "--client", "cursor", "--write", "-p", "vault")
    assert _entry(_BY_NAME["cursor"])["args"] == ["mcp", "-p", "vault"]
    copies = sorted(path.parent.glob("*before-dowse*"))
    assert [one.name for one in copies] == ["mcp.json.before-dowse", "mcp.json.before-dowse-2"]
    assert copies[0].read_text() == '{"first": true}'


def test_nothing_is_written_through_a_link_and_the_advice_works(dowse: Dowse, home: Path) -> None:
    real = home / "dotfiles" / "cursor.json"
    real.parent.mkdir()
    real.write_text("{}")
    path = _BY_NAME["cursor"].path
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    refused = dowse("mcp", "install", "--client", "cursor", "--write")
    assert refused.code == 2
    assert '"dowse"' in refused.out  # to be put into the file by hand
    assert f"leads to {real}" in " ".join(refused.err.split())
    assert real.read_text() == "{}"
    assert dowse("mcp", "install", "--client", "cursor", "--write", "--file", path).code == 2
    assert real.read_text() == "{}"
    _, _, advice = " ".join(refused.err.split()).partition("write to it with: dowse ")
    assert dowse(*shlex.split(advice)).code == 0
    assert path.is_symlink()
    assert "dowse" in real.read_text()
    # The file has it now, so there is nothing to write.
    assert dowse("mcp", "install", "--client", "cursor", "--write").code == 0


def test_a_cloned_folder_cannot_lead_its_entry_elsewhere(
    dowse: Dowse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloned = home / "cloned"
    cloned.mkdir()
    (home / "other").mkdir()
    (cloned / ".cursor").symlink_to(home / "other")
    monkeypatch.chdir(cloned)
    assert dowse("mcp", "install", "--client", "cursor", "--write", "--scope", "folder").code == 2
    assert list((home / "other").iterdir()) == []


def test_a_home_that_is_reached_by_a_link_is_written(
    dowse: Dowse, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "home-link"
    link.symlink_to(home)
    monkeypatch.setenv("HOME", str(link))
    assert dowse("mcp", "install", "--client", "cursor", "--write").code == 0
    assert dowse("skill", "install", "--client", "codex").code == 0


def test_a_skill_is_not_written_through_a_link(dowse: Dowse, home: Path) -> None:
    path = _BY_NAME["codex"].skill_path
    path.parent.parent.mkdir(parents=True)
    (home / "other").mkdir()
    path.parent.symlink_to(home / "other")
    refused = dowse("skill", "install", "--client", "codex")
    assert refused.code == 2
    assert "--print >" in refused.err
    assert list((home / "other").iterdir()) == []


def test_another_file_can_be_named(dowse: Dowse, home: Path) -> None:
    file = home / "elsewhere" / "mcp.json"
    assert dowse("mcp", "install", "--client", "cursor", "--write", "--file", file).code == 0
    assert json.loads(file.read_text())["mcpServers"]["dowse"]


def test_a_project_that_is_none_is_noticed(dowse: Dowse) -> None:
    assert dowse("mcp", "install", "--client", "cursor", "-p", "nobody").code == 2


def test_an_unknown_client_learns_the_known_ones(dowse: Dowse) -> None:
    seen = dowse("mcp", "install", "--client", "emacs")
    assert seen.code == 2
    assert "claude-code" in seen.err


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", ".config/Claude/claude_desktop_config.json"),
    ],
)
def test_every_system_has_its_place(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, expected: str
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert _BY_NAME["claude-desktop"].path == home / expected


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("darwin", ".config/zed/settings.json"),
        ("win32", "AppData/Roaming/zed/settings.json"),
        ("linux", ".config/zed/settings.json"),
    ],
)
def test_editors_keep_theirs_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, expected: str
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert _BY_NAME["zed"].path == home / expected


@pytest.mark.parametrize(
    ("platform", "name", "expected"),
    [
        ("win32", "goose", "AppData/Roaming/Block/goose/config/config.yaml"),
        ("darwin", "goose", ".config/goose/config.yaml"),
        ("win32", "opencode", ".config/opencode/opencode.json"),
        ("darwin", "opencode", ".config/opencode/opencode.json"),
        ("win32", "devin", "AppData/Roaming/devin/mcp_config.json"),
        ("darwin", "devin", ".config/devin/mcp_config.json"),
    ],
)
def test_each_client_is_looked_for_where_it_is_on_that_system(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, name: str, expected: str
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert _BY_NAME[name].path == home / expected


def test_the_file_of_an_older_version_is_used_while_it_is_the_only_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    cline, newer = _BY_NAME["cline"], home / ".cline/data/settings/cline_mcp_settings.json"
    assert cline.path == newer
    older = clients._placed(cline.older)
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    assert cline.path == older
    newer.parent.mkdir(parents=True)
    newer.write_text("{}")
    assert cline.path == newer


def test_the_program_is_the_one_that_runs() -> None:
    assert Path(clients.start_command(None)[0]).parent == Path(sys.executable).parent


def test_nothing_is_written_where_documents_are_read(
    dowse: Dowse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "vault").mkdir()
    assert dowse("project", "add", home / "vault").code == 0
    monkeypatch.chdir(home / "vault")
    seen = dowse("mcp", "install", "--client", "claude-code", "--scope", "folder", "--write")
    assert seen.code == 2
    assert "by hand" in seen.err
    assert json.loads(seen.out)["mcpServers"]["dowse"]
    for client in CLIENTS:
        dowse("mcp", "install", "--client", client.name, "--write")
        dowse("skill", "install", "--client", client.name)
    assert list((home / "vault").iterdir()) == []


def test_a_skill_is_written_where_the_agent_reads_it(dowse: Dowse) -> None:
    once = {one.skill: one for one in CLIENTS}.values()  # Codex and Goose share a file
    for client in once:
        seen = dowse("skill", "install", "--client", client.name, "--json")
        if not client.skill:
            assert seen.code == 2
            assert "--print" in seen.out
            continue
        assert seen.json["written"]
        assert seen.json["path"] == str(client.skill_path)
        _, header, body = client.skill_path.read_text("utf-8").split("---\n")
        assert yaml.safe_load(header)["name"] == "dowse"
        assert all(f"`{tool.name}`" in body for tool in TOOLS[:1] + TOOLS[2:6])
        assert not dowse("skill", "install", "--client", client.name, "--json").json["written"]


def test_a_skill_that_was_changed_is_kept_as_a_copy(dowse: Dowse) -> None:
    path = _BY_NAME["codex"].skill_path
    path.parent.mkdir(parents=True)
    path.write_text("my own")
    seen = dowse("skill", "install", "--client", "codex", "--json").json
    assert Path(seen["backup"]).read_text() == "my own"


def test_a_skill_can_be_printed(dowse: Dowse) -> None:
    assert dowse("skill", "install", "--print").out == SKILL
    assert dowse("skill", "install").code == 2
