"""`dowse config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Dowse


def test_set_get_and_unset(home: Path, dowse: Dowse) -> None:
    assert dowse("config", "get", "search.top_n").out == "5\n"
    assert dowse("config", "set", "search.top_n", "7").code == 0
    assert dowse("config", "get", "search.top_n").out == "7\n"
    assert "search" in (home / "own/config/config.toml").read_text("utf-8")
    assert dowse("config", "unset", "search.top_n").code == 0
    assert dowse("config", "get", "search.top_n").out == "5\n"
    assert dowse("config", "unset", "search.top_n").code == 2


@pytest.mark.usefixtures("indexed")
def test_a_projects_own_setting_is_stronger(dowse: Dowse) -> None:
    assert dowse("config", "set", "search.top_n", "7").code == 0
    assert dowse("config", "set", "-p", "vault", "search.top_n", "3").code == 0
    shape = dowse("config", "get", "search.top_n", "--json").json
    assert shape["value"] == 3
    assert shape["origin"].endswith("project.toml")
    told = dowse("config", "set", "search.top_n", "8")
    assert "overrides it" in told.err


def test_lists_are_written_with_commas(dowse: Dowse) -> None:
    assert dowse("config", "set", "read.exclude", "drafts/, *.tmp.md").code == 0
    assert dowse("config", "get", "read.exclude").out == "drafts/,*.tmp.md\n"
    assert dowse("config", "get", "read.exclude", "--json").json["value"] == ["drafts/", "*.tmp.md"]


def test_what_does_not_fit_is_refused_and_nothing_is_written(home: Path, dowse: Dowse) -> None:
    for name, value in (("search.top_n", "many"), ("search.top_n", "0"), ("search.mode", "magic")):
        result = dowse("config", "set", name, value)
        assert result.code == 2
        assert name.partition(".")[2] in result.err
    assert not (home / "own/config/config.toml").exists()


def test_an_unknown_setting_suggests_the_nearest(dowse: Dowse) -> None:
    result = dowse("config", "set", "search.topn", "7")
    assert result.code == 2
    assert "Did you mean search.top_n" in result.err
    assert dowse("config", "get", "nonsense").code == 2


def test_show_says_where_values_come_from(
    indexed: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed / "dowse.toml").write_text("[search]\ntop_n = 4\n", "utf-8")
    monkeypatch.setenv("DOWSE_SEARCH_MODE", "keyword")
    out = dowse("config", "show").out
    assert "top_n = 4  # ~/vault/dowse.toml" in out
    assert 'mode = "keyword"  # environment' in out
    settings = {one["name"]: one for one in dowse("config", "show", "--json").json["settings"]}
    assert settings["search.top_n"]["value"] == 4
    assert settings["search.top_k"]["origin"] == "default"


@pytest.mark.usefixtures("indexed")
def test_a_change_that_needs_a_rebuild_says_so(dowse: Dowse) -> None:
    told = dowse("config", "set", "chunk.strategy", "fixed")
    assert told.code == 0
    assert "dowse index --rebuild -p vault" in told.err
    back = dowse("config", "unset", "chunk.strategy")
    assert "rebuild" not in back.err


def test_a_broken_file_is_named(home: Path, dowse: Dowse) -> None:
    file = home / "own/config/config.toml"
    file.parent.mkdir(parents=True)
    for text in ("[search\n", "top_n = 3\n", "[search]\ntop_m = 3\n", "[search]\ntop_n = 'x'\n"):
        file.write_text(text, "utf-8")
        result = dowse("config", "show")
        assert result.code == 2
        assert str(file) in result.err
        assert dowse("doctor").code == 1


def test_a_wrong_value_can_be_fixed_by_setting_it(home: Path, dowse: Dowse) -> None:
    file = home / "own/config/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[search]\ntop_n = 'x'\n", "utf-8")
    assert dowse("config", "set", "search.top_n", "6").code == 0
    assert file.read_text("utf-8") == "# mine\n[search]\ntop_n = 6\n"


_ADDRESS = "https://u5er:hunter2@127.0.0.1:9/v1?key=s3cret"


@pytest.mark.usefixtures("indexed")
def test_secrets_in_addresses_are_hidden_wherever_settings_are_shown(
    vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = f'[embed]\nendpoint_url = "{_ADDRESS}"\n[answer]\nendpoint_url = "{_ADDRESS}"\n'
    (vault / "dowse.toml").write_text(local, "utf-8")
    lines: list[list[object]] = [
        ["config", "show", "-p", "vault"],
        ["config", "show", "-p", "vault", "--json"],
        ["config", "get", "embed.endpoint_url", "-p", "vault", "--json"],
        ["config", "set", "embed.endpoint_url", _ADDRESS],
        ["config", "set", "embed.provider", _ADDRESS],
        ["config", "set", "search.top_n", _ADDRESS, "--json"],
        ["status", "-p", "vault", "-v"],
        ["project", "trust", vault],
        ["project", "trust", vault, "--yes", "--json"],
        ["doctor"],
        ["doctor", "--json"],
        ["index", "-p", "vault", "-v"],
        ["search", "-p", "vault", "restore", "-v"],
    ]
    for provider in ("none", "endpoint"):
        monkeypatch.setenv("DOWSE_EMBED_PROVIDER", provider)
        monkeypatch.setenv("DOWSE_EMBED_ENDPOINT_RETRIES", "0")
        monkeypatch.setenv("DOWSE_EMBED_ENDPOINT_MODEL", "m")
        for line in lines:
            shown = dowse(*line)
            for secret in ("hunter2", "s3cret", "u5er"):
                assert secret not in shown.out + shown.err, (line, shown)
