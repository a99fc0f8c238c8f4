from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse._config.schema import combine
from dowse._config.trust import Trust, read_local
from dowse.errors import BadSettings


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


@pytest.mark.parametrize("root", [".git", ".hidden", "private", "ignored/deep"])
def test_it_cannot_make_a_root_of_what_the_user_leaves_out(
    file: Path, trust: Trust, root: str
) -> None:
    (file.parent / ".gitignore").write_text("ignored/\n", "utf-8")
    (file.parent / root).mkdir(parents=True)
    file.write_text(f'[project]\nroots = ["docs", "{root}"]\n', "utf-8")
    present = {"read.exclude": ["private/"]}
    local = read_local(file, trust, present)
    assert local.roots == (file.parent / "docs",)
    assert local.withheld == (f"read {file.parent / root}",)
    agree(trust, file)
    assert read_local(file, trust, present).outside == (file.parent / root,)


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


_WIDENING = [
    ("hidden = true", {}),
    ("gitignore = false", {}),
    ("max_bytes = 900000000", {}),
    ("max_convert_bytes = 900000000", {}),
    ("convert_seconds = 3600.0", {}),
    ("follow_symlinks = true", {"read.follow_symlinks": False}),
    ("max_bytes = 5000", {"read.max_bytes": 1000}),
    ('convert = ["pdf"]', {"read.convert": []}),
]


@pytest.mark.parametrize(("setting", "present"), _WIDENING)
def test_it_cannot_read_more_than_the_user_does(
    file: Path, trust: Trust, setting: str, present: dict[str, object]
) -> None:
    file.write_text(f"[read]\n{setting}\n", "utf-8")
    local = read_local(file, trust, present)
    assert dict(local.layer.values) == {}
    assert len(local.withheld) == 1
    agree(trust, file)
    assert len(read_local(file, trust, present).layer.values) == 1


@pytest.mark.parametrize(
    ("setting", "present"),
    [
        ("hidden = false", {"read.hidden": True}),
        ("hidden = true", {"read.hidden": True}),
        ("gitignore = true", {"read.gitignore": False}),
        ("max_bytes = 1000", {}),
        ("follow_symlinks = false", {}),
        ('exclude = ["drafts/"]', {}),
        ('exclude = ["drafts/", "private/"]', {"read.exclude": ["private/"]}),
        ('include = ["docs/"]', {}),
        ('convert = ["pdf"]', {}),
    ],
)
def test_it_can_read_less(
    file: Path, trust: Trust, setting: str, present: dict[str, object]
) -> None:
    file.write_text(f"[read]\n{setting}\n", "utf-8")
    assert read_local(file, trust, present).withheld == ()


_HARMLESS = '[project]\nname = "book"\nroots = ["docs"]\n[search]\ntop_n = 3\n'


def test_nothing_of_a_file_of_another_user_holds_without_consent(
    file: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(_HARMLESS, "utf-8")
    agree(trust, file)  # as long as it was the user's own
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    local = read_local(file, trust)
    assert (local.name, local.roots, dict(local.layer.values)) == (None, (file.parent,), {})
    wanted = ("name the project 'book'", f"read {file.parent / 'docs'}", "set search.top_n = 3")
    assert local.withheld == wanted
    assert "another user" in local.strange
    agree(trust, file)
    assert read_local(file, trust).layer.values == {"search.top_n": 3}
    assert read_local(file, trust).strange == ""


def test_nothing_of_a_file_that_is_a_link_holds_without_consent(
    file: Path, trust: Trust, tmp_path: Path
) -> None:
    real = tmp_path / "dowse.toml"
    real.write_text(_HARMLESS, "utf-8")
    agree(trust, real)  # which is no consent to the link
    file.symlink_to(real)
    local = read_local(file, trust)
    assert (local.name, local.roots, dict(local.layer.values)) == (None, (file.parent,), {})
    assert str(real) in local.strange
    agree(trust, file)
    assert read_local(file, trust).layer.values == {"search.top_n": 3}
    file.unlink()
    other = tmp_path / "other.toml"
    other.write_text(_HARMLESS, "utf-8")
    file.symlink_to(other)  # the same text from another place
    assert dict(read_local(file, trust).layer.values) == {}


_DEEP = "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    "text",
    [
        f"[search]\ntop_n = {_DEEP}\n",
        "[search]\ntop_n = " + "9" * 5000 + "\n",
        "[search]\ntop_n = 0x" + "f" * 5000 + "\n",
        "[read]\nmax_bytes = 0x" + "f" * 5000 + "\n",
        "[read]\nexclude = " + "[" * 300 + "]" * 300 + "\n",
        "[chunk]\nchunk_max = 1000000000000\n",
        "# " + "a" * 1_000_001,
        "[search.a" + ".a" * 5_000 + "]\n",
        "[project]\nroots = [" + '"a",' * 1_001 + "]\n",
    ],
)
def test_a_hostile_file_is_named(file: Path, trust: Trust, text: str) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(BadSettings, match=str(file)) as caught:
        combine([read_local(file, trust).layer])
    assert len(caught.value.message) < 1000


def test_a_pipe_in_place_of_the_file_does_not_block(file: Path, trust: Trust) -> None:
    os.mkfifo(file)
    with pytest.raises(BadSettings, match="not a regular file"):
        read_local(file, trust)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_a_hostile_list_of_consents_trusts_nothing(
    file: Path, trust: Trust, tmp_path: Path, content: str
) -> None:
    file.touch()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "trusted.json").write_text(content, "utf-8")
    assert not covers(trust, file)
