"""A query without a good match, with the default model and a real index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import Dowse
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.tools import TOOLS
from dowse._project.pool import EnginePool
from dowse._project.workspace import Given, Workspace
from real_model import real_embedder

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

_GARDEN = {
    "roses.md": "# Pruning roses\n\nCut roses back in March, above a bud that points outwards.",
    "compost.md": "# Compost\n\nTurn the compost heap once a month. Keep it as damp as a sponge.",
    "router.md": "---\ntags: [network]\n---\n# Router\n\nThe router restarts at three every night.",
    "slugs.md": "# Slugs\n\nCollect slugs in the evening, when the beds are wet.",
}


@pytest.fixture
def given() -> Given:
    """The default model: only with a model whose confidence is known can a match be weak."""
    return Given(real_embedder())


@pytest.fixture
def service(
    home: Path, workspace: Workspace, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EnginePool]:
    """Warm engines over a garden diary."""
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "local")
    for name, text in _GARDEN.items():
        (home / "garden").mkdir(exist_ok=True)
        (home / "garden" / name).write_text(text, "utf-8")
    assert dowse("index", home / "garden").code == 0
    service = EnginePool(workspace, home / "garden")
    yield service
    service.close()


def test_the_filter_that_excludes_the_good_match_is_named_at_every_door(
    service: EnginePool, dowse: Dowse
) -> None:
    said = "--tag network excluded 3 passages that would otherwise match."
    line = ("search", "when are roses pruned", "--tag", "network")
    seen = dowse(*line)
    assert seen.out.startswith("No good match. Nearest:")
    assert said in seen.err
    assert dowse(*line, "--json").json["removed"] == {"--tag network": 3}
    assert "`--tag network` kept out 3" in dowse(*line, "--format", "md").out
    projects = VisibleProjects(lambda: service)
    reply = TOOLS[0].run(projects, {"query": line[1], "tag": ["network"], "n": 5})
    assert reply.structured["removed"] == {"tag network": 3}
    # Without it there is no good match either: the filter is not to blame.
    assert "excluded" not in dowse("search", "moon base revenue", "--tag", "network").err


def test_no_good_match_is_said_dimmed_and_opens_nothing(site: Any) -> None:
    page = site.open("#q=when are roses pruned")
    expect(page.locator("#reader h2").first).to_have_text("Pruning roses")
    colour = "(one) => getComputedStyle(one).color"
    bright = page.locator(".hit-title").first.evaluate(colour)
    page.fill("#query", "quarterly revenue of the moon base")
    expect(page.locator("#no-match")).to_have_text("No good match. Nearest:")
    expect(page.locator("#results")).to_have_class("results weak")
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".hit-match").first).to_have_text("weak")
    assert page.locator(".hit-title").first.evaluate(colour) != bright
    expect(page.locator(".hit[aria-selected=true]")).to_have_count(0)
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#answer-ask")).to_have_count(0)

    page.fill("#query", "when are roses pruned")
    expect(page.locator("#reader h2").first).to_have_text("Pruning roses")
    page.goto(f"{site.address}#q=when are roses pruned&filter=tag:network")
    expect(page.locator("#no-match")).to_have_text("No good match. Nearest:")
    expect(page.locator("#reader")).to_be_hidden()
    page.get_by_role("button", name="Search without tag: network").click()
    expect(page.locator("#no-match")).to_have_count(0)
    expect(page.locator("#reader h2").first).to_have_text("Pruning roses")
