"""Documents that point at files must not point at nothing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dowse._config.schema import combine, layer_of

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\[[^\]]*\]\((?!https?://|#|mailto:)([^)#\s]+)")
_RESULTS = _ROOT / "benchmarks" / "results"
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md"), *_RESULTS.glob("*.md")])
_TO_HEADING = re.compile(r"\[[^\]]*\]\((?!https?://)([^)#\s]*)#([^)\s]+)\)")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    targets = _LINK.findall(page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    named = _TO_HEADING.findall(page.read_text("utf-8"))
    targets = [(page.parent / path if path else page, anchor) for path, anchor in named]
    assert [
        (path.name, anchor)
        for path, anchor in targets
        if path.suffix == ".md" and anchor not in _anchors(path.read_text("utf-8"))
    ] == []


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"(?m)^#{1,6} (.+)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("name", ["quality.md", "measurements.md"])
def test_the_summary_of_measurements_can_be_read_in_minutes(name: str) -> None:
    assert len((_ROOT / "docs" / name).read_text("utf-8").split()) <= 1200


def test_the_index_of_results_links_every_table() -> None:
    linked = set(_LINK.findall((_RESULTS / "README.md").read_text("utf-8")))
    assert {path.name for path in _RESULTS.glob("*.md")} - {"README.md"} <= linked


def test_the_architecture_shows_every_room_and_file() -> None:
    shown = set(_LINK.findall((_ROOT / "ARCHITECTURE.md").read_text("utf-8")))
    house = _ROOT / "src" / "dowse"
    rooms = {path.parent for path in house.glob("*/__init__.py")} | set(house.glob("*.py"))
    expected = {
        path.relative_to(_ROOT).as_posix()
        for path in rooms
        if path.name not in {"__init__.py", "front"}
    }
    assert expected <= shown


_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_claim_about_security_names_a_test_that_exists() -> None:
    named = _TEST.findall((_ROOT / "docs" / "security.md").read_text("utf-8"))
    assert named
    for file, test in named:
        assert f"def {test}(" in (_ROOT / "tests" / file).read_text("utf-8"), f"{file}::{test}"


def test_each_provider_of_the_guide_is_set_up_by_one_line() -> None:
    guide = (_ROOT / "docs" / "guide.md").read_text("utf-8")
    lines = re.findall(r"^```toml\n(embed = .*)\n```$", guide, re.MULTILINE)
    chosen = [combine([layer_of(Path("config.toml"), tomllib.loads(one))])[0] for one in lines]
    assert [(one.embed.provider, one.embed.endpoint_url) for one in chosen] == [
        ("endpoint", "https://api.openai.com/v1"),
        ("endpoint", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ]
    assert all(one.embed.api_key_env.endswith("_API_KEY") for one in chosen)
