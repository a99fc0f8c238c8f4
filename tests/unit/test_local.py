from __future__ import annotations

from pathlib import Path

import pytest

from dowse.errors import BadSettings
from dowse.local import Trust, read_local


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "own" / "trusted.json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder / "dowse.toml"


def agree(trust: Trust, file: Path) -> None:
    trust.grant(file, read_local(file, trust).digest)


def covers(trust: Trust, file: Path) -> bool:
    return trust.covers(file, read_local(file, trust).digest)


def test_harmless_settings_hold_at_once(file: Path, trust: Trust) -> None:
    file.write_text('[project]\nname = "book"\nroots = ["docs"]\n[search]\ntop_n = 3\n', "utf-8")
    local = read_local(file, trust)
    assert local.name == "book"
    assert local.roots == (file.parent / "docs",)
    assert dict(local.layer.values) == {"search.top_n": 3}
    assert local.withheld == ()


def test_an_empty_file_means_its_own_folder(file: Path, trust: Trust) -> None:
    file.touch()
    local = read_local(file, trust)
    assert (local.name, local.roots, local.outside) == (None, (file.parent,), ())


@pytest.mark.parametrize("root", ["..", "../other", "/etc", "docs/../../other", "link"])
def test_it_cannot_read_outside_its_tree(file: Path, trust: Trust, root: str) -> None:
    (file.parent / "link").symlink_to("/etc")
    file.write_text(f'[project]\nroots = ["docs", "{root}"]\n', "utf-8")
    local = read_local(file, trust)
    assert local.roots == (file.parent / "docs",)
    assert local.outside == ()
    assert len(local.withheld) == 1
    assert local.withheld[0].startswith("read /")


@pytest.mark.parametrize(
    "setting",
    [
        'provider = "endpoint"',
        'endpoint_url = "https://collector.example/v1"',
        'model = "/elsewhere/model"',
        'model = "someone/else"',
        'api_key_env = "AWS_SECRET_ACCESS_KEY"',
    ],
)
def test_it_cannot_choose_models_or_endpoints(file: Path, trust: Trust, setting: str) -> None:
    file.write_text(f"[embed]\n{setting}\n[search]\ntop_n = 3\n", "utf-8")
    local = read_local(file, trust)
    assert dict(local.layer.values) == {"search.top_n": 3}
    assert local.withheld == (f"set embed.{setting.replace(chr(34), chr(39))}",)


def test_consent_lets_all_of_it_through_until_the_file_changes(file: Path, trust: Trust) -> None:
    text = '[project]\nroots = ["../other"]\n[embed]\nmodel = "/elsewhere"\n'
    file.write_text(text, "utf-8")
    assert len(read_local(file, trust).withheld) == 2
    agree(trust, file)
    local = read_local(file, trust)
    assert local.withheld == ()
    assert local.outside == (file.parent.parent / "other",)
    assert local.layer.values == {"embed.model": "/elsewhere"}
    file.write_text(text + "\n", "utf-8")
    assert len(read_local(file, trust).withheld) == 2
    file.write_text(text, "utf-8")
    assert read_local(file, trust).withheld == ()


def test_consent_can_be_taken_back(file: Path, trust: Trust) -> None:
    file.write_text('[embed]\nmodel = "x"\n', "utf-8")
    trust.revoke(file)
    agree(trust, file)
    trust.revoke(file)
    assert not covers(trust, file)


def test_consent_is_for_one_place(file: Path, trust: Trust, tmp_path: Path) -> None:
    file.write_text('[embed]\nmodel = "x"\n', "utf-8")
    agree(trust, file)
    copy = tmp_path / "dowse.toml"
    copy.write_bytes(file.read_bytes())
    assert not covers(trust, copy)


def test_a_link_is_trusted_as_what_it_leads_to(file: Path, trust: Trust, tmp_path: Path) -> None:
    file.write_text('[embed]\nmodel = "x"\n', "utf-8")
    link = tmp_path / "link"
    link.symlink_to(file.parent)
    agree(trust, link / "dowse.toml")
    assert covers(trust, file)


def test_consent_ends_when_a_link_leads_elsewhere(file: Path, trust: Trust, tmp_path: Path) -> None:
    link = file.parent / "link"
    link.symlink_to(tmp_path / "agreed")
    file.write_text('[project]\nroots = ["link"]\n', "utf-8")
    agree(trust, file)
    assert read_local(file, trust).outside == (tmp_path / "agreed",)
    link.unlink()
    link.symlink_to("/etc")
    assert read_local(file, trust).outside == ()
    assert read_local(file, trust).withheld == ("read /etc",)


def test_links_in_a_circle_are_no_bug(file: Path, trust: Trust) -> None:
    (file.parent / "circle").symlink_to("circle")
    file.write_text('[project]\nroots = ["circle"]\n', "utf-8")
    assert read_local(file, trust).roots == (file.parent / "circle",)


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"a": 1}', "null"])
def test_a_broken_list_of_consents_trusts_nothing(
    file: Path, trust: Trust, tmp_path: Path, content: str
) -> None:
    file.touch()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "trusted.json").write_text(content, "utf-8")
    assert not covers(trust, file)
    agree(trust, file)
    assert covers(trust, file)


@pytest.mark.parametrize(
    "text",
    [
        "[project",
        "project = 1\n",
        "[project]\nname = 1\n",
        "[project]\nroots = 'docs'\n",
        "[project]\nroots = [1]\n",
        '[project]\nroots = ["a\\u0000b"]\n',
        "[project]\nrun = 'rm'\n",
        "x = 1\n",
    ],
)
def test_a_broken_file_is_named(file: Path, trust: Trust, text: str) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(BadSettings, match=str(file)):
        read_local(file, trust)
