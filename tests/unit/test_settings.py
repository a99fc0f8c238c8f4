from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from dowse._config.schema import (
    SECTIONS,
    Layer,
    Settings,
    change_search,
    check_value,
    combine,
    find_setting,
    from_environment,
    known_settings,
    of_an_index,
    parse_text,
    read_file,
)
from dowse._text.options import BOOSTED
from dowse.errors import BadSettings


def test_every_setting_explains_itself() -> None:
    for name, setting in known_settings().items():
        assert setting.meaning, name
        section, _, option = name.partition(".")
        assert getattr(getattr(Settings(), section), option) == setting.default


def test_without_layers_the_defaults_hold() -> None:
    assert combine([]) == (Settings(), {})


def test_the_later_layer_is_stronger() -> None:
    settings, origins = combine(
        [Layer("a", {"search.top_n": 3, "search.mode": "keyword"}), Layer("b", {"search.top_n": 4})]
    )
    assert (settings.search.top_n, settings.search.mode) == (4, "keyword")
    assert origins == {"search.top_n": "b", "search.mode": "a"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("search.top_n", "many"),
        ("search.top_n", 1.5),
        ("search.top_n", True),
        ("search.top_n", [1]),
        ("search.mode", "magic"),
        ("search.mode", 1),
        ("read.exclude", "a.md"),
        ("read.exclude", [1]),
        ("read.hidden", "perhaps"),
        ("read.hidden", 1),
        ("fuse.rrf_k", float("nan")),
        ("read.convert_seconds", "inf"),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadSettings, match=name) as refusal:
        check_value(name, value, "somewhere")
    assert known_settings()[name].meaning in refusal.value.hint


def test_a_value_out_of_range_is_refused() -> None:
    with pytest.raises(BadSettings, match="top_n"):
        combine([Layer("a", {"search.top_n": 0})])


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("search.topn", "search.top_n"),
        ("serch.top_n", "search.top_n"),
        ("read.exclud", "read.exclude"),
        ("embed.modell", "embed.model"),
    ],
)
def test_an_unknown_setting_suggests_what_is_near(typo: str, meant: str) -> None:
    with pytest.raises(BadSettings) as refusal:
        find_setting(typo)
    assert meant in refusal.value.hint
    with pytest.raises(BadSettings, match=r"a\.toml: there is no setting"):
        combine([Layer("a.toml", {typo: 1})])


@pytest.mark.parametrize("name", ["", ".", "search", "search.", "nonsense.at_all", "a.b.c"])
def test_nothing_near(name: str) -> None:
    with pytest.raises(BadSettings):
        find_setting(name)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    assert read_file(file).values == {}
    file.write_text(
        "[project]\nroots = ['.']\n[search]\ntop_n = 3\n[read]\nexclude = ['a']\n", "utf-8"
    )
    layer = read_file(file, ignored=("project",))
    assert layer.values == {"search.top_n": 3, "read.exclude": ["a"]}
    assert combine([layer])[0].read.exclude == ("a",)


@pytest.mark.parametrize("content", [b"[search\n", b"top_n = 3\n", b"\xff\xfe", b"a = [\n"])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(BadSettings, match=str(file)):
        read_file(file)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read"):
        read_file(tmp_path)


def test_the_environment() -> None:
    layer = from_environment(
        {
            "DOWSE_SEARCH_TOP_N": "7",
            "DOWSE_READ_EXCLUDE": "drafts/, *.tmp ,",
            "DOWSE_READ_HIDDEN": "true",
            "DOWSE_EMBED_API_KEY_ENV": "KEY",
            "DOWSE_NONSENSE": "1",
            "SEARCH_TOP_K": "1",
        }
    )
    settings, origins = combine([layer])
    assert settings.search.top_n == 7
    assert settings.read.exclude == ("drafts/", "*.tmp")
    assert settings.read.hidden is True
    assert settings.embed.api_key_env == "KEY"
    assert set(origins.values()) == {"environment"}


def test_a_wrong_value_in_the_environment_is_refused() -> None:
    with pytest.raises(BadSettings, match="environment"):
        combine([from_environment({"DOWSE_SEARCH_TOP_N": "x"})])


def test_text_is_read_as_people_type_it() -> None:
    assert parse_text(find_setting("read.exclude"), "") == []
    assert parse_text(find_setting("search.top_n"), "3") == "3"


def test_names_in_the_environment_are_unambiguous() -> None:
    names = [name.replace(".", "_").upper() for name in known_settings()]
    assert len(set(names)) == len(names)
    own = {"PROJECT", "DEBUG", "CONFIG_DIR", "DATA_DIR", "CACHE_DIR"}
    assert not own & set(names)


def test_every_section_is_a_record_of_its_own() -> None:
    for options in SECTIONS.values():
        assert issubclass(options, Struct)
        with pytest.raises(AttributeError, match="immutable"):
            setattr(options(), options.__struct_fields__[0], None)


def test_what_a_search_cannot_change_is_reported_with_the_place_where_it_belongs() -> None:
    with pytest.raises(BadSettings, match="a setting of answers"):
        change_search(Settings(), {"answer.sentences": 1})
    with pytest.raises(BadSettings, match="a setting of the index"):
        change_search(Settings(), {"chunk.overlap": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [("search.preset", "nope"), ("search.preset", ["a"]), ("search.mode", "nope")],
)
def test_a_refused_choice_names_the_file_and_the_choices(name: str, value: object) -> None:
    known = {"search.preset": "general, api-reference", "search.mode": "hybrid, semantic"}[name]

    with pytest.raises(BadSettings, match=rf"^a\.toml: {name} .* Known: {known}"):
        combine([Layer("a.toml", {name: value})])


def test_the_presets_of_the_two_systems_say_all_that_an_index_is_built_with() -> None:
    first, second = (
        combine([Layer("arguments", {"search.preset": name})])[0] for name in ("seed-a", "seed-b")
    )
    assert (first.chunk.strategy, first.chunk.chunk_goal, first.chunk.context) == (
        "headers",
        500,
        "headings",
    )
    assert (first.keyword.title, first.keyword.headers, first.keyword.stemming) == (3.0, 2.5, True)
    assert (second.chunk.strategy, second.chunk.context) == ("fixed", "none")
    assert (second.chunk.fixed_size, second.chunk.fixed_overlap) == (1000, 200)
    assert (second.keyword.stemming, second.keyword.stopwords) == (False, False)
    boosts = [getattr(second.keyword, name) for name in BOOSTED]
    assert max(boosts) == second.keyword.content == 1.0
    assert second.keyword.headers == 0.0
    assert second.search.candidates == 30


def test_an_index_is_built_with_what_a_preset_says_unless_a_setting_says_otherwise() -> None:
    wanted = of_an_index({"search.preset": "seed-b", "chunk.fixed_size": 800, "fuse.keyword": 2.0})
    assert wanted["chunk.fixed_size"] == 800
    assert wanted["chunk.fixed_overlap"] == 200
    assert not {"fuse.keyword", "search.preset", "search.top_k"} & wanted.keys()
