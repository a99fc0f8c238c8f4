"""Where a user begins: the start, the choice of the project, and a server that goes away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import Dowse
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import Server, application, bind
from dowse._project.pool import EnginePool

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_the_start_lists_what_is_new_what_is_linked_and_what_to_ask(
    site: Any, notes: Path, dowse: Dowse
) -> None:
    question = "Why does every station send a frame?"
    (notes / "reference" / "why.md").write_text(f"# Frames\n\n## {question} #\n\nSo.\n", "utf-8")
    assert dowse("index", notes).code == 0
    page = site.open()
    groups = page.locator(".begin-group")
    expect(groups.locator("h2")).to_have_text(
        ["Recently changed", "Most linked", "Questions your documents answer"]
    )
    expect(groups.nth(0).locator(".begin-text")).to_contain_text(["Frames", "day"])
    expect(groups.nth(1)).to_contain_text("reference · 2 links")
    groups.nth(2).locator("button").first.click()
    expect(page.locator("#query")).to_have_value(question)
    expect(page.locator(".hit")).not_to_have_count(0)
    page.click("#home")
    groups.nth(1).locator("button", has_text="Stations").click()
    expect(page.locator("#reader h2").first).to_have_text("Stations")


def test_recent_searches_stay_in_the_browser_and_can_be_cleared(site: Any) -> None:
    page = site.open()
    for query in ("lighthouse", "barometer"):
        page.fill("#query", query)
        expect(page.locator(".hit").first).to_be_visible()
        page.press("#query", "Enter")
        expect(page.locator("#reader-body")).to_be_focused()
    page.click("#home")
    searched = page.locator(".begin-group", has_text="Recent searches")
    expect(searched.locator(".begin-text")).to_have_text(["barometer", "lighthouse"])
    page.reload()
    searched.get_by_role("button", name="lighthouse").click()
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    page.click("#home")
    page.click("#recent-clear")
    expect(searched).to_have_count(0)
    assert page.evaluate("localStorage.getItem('dowse-searches')") == "[]"


@pytest.fixture
def two(serving: Callable[..., Any], home: Path, dowse: Dowse) -> Any:
    """A server with two projects."""
    (home / "recipes").mkdir()
    (home / "recipes" / "soup.md").write_text(
        "# Soup\n\nStir leek and potato; restore the heat.\n", "utf-8"
    )
    assert dowse("index", home / "recipes").code == 0
    return serving()


def test_all_projects_are_searched_at_once(two: Any) -> None:
    page = two.open("#q=restore")
    page.select_option("#project", "all")
    expect(page.locator("#status-text")).to_have_text("7 documents")
    soup = page.locator(".hit", has_text="Soup")
    expect(soup.locator(".hit-project")).to_have_text("recipes")
    expect(page.locator(".hit-project", has_text="notes")).not_to_have_count(0)
    soup.click()
    expect(page.locator("#reader h2").first).to_have_text("Soup")
    assert "project=all" in page.url
    assert "in=recipes" in page.url
    page.click("#tab-related")
    expect(page.locator("#reader-body")).to_contain_text("similar to it")
    page.reload()
    expect(page.locator("#reader h2").first).to_have_text("Soup")
    page.click("#home")
    expect(page.locator(".begin-group").first).to_contain_text("recipes")


def test_a_question_is_answered_from_all_projects(two: Any) -> None:
    page = two.open("#project=all&q=do you stir leek and potato?")
    page.click("#answer-ask")
    expect(page.locator("#answer")).to_contain_text("Stir leek and potato; restore the heat.")
    page.locator("#answer .source").first.click()
    expect(page.locator(".hit[aria-selected=true] .hit-project")).to_have_text("recipes")
    expect(page.locator("#reader h2").first).to_have_text("Soup")
    page.fill("#query", "restore")
    expect(page.locator("#answer")).to_be_hidden()
    page.click("#answer-ask")
    expect(page.locator("#answer")).to_contain_text("In the words of the documents")


def test_the_graph_shows_all_projects_and_opens_the_document_of_the_right_one(
    two: Any, home: Path, dowse: Dowse
) -> None:
    (home / "recipes" / "lonely.md").write_text("# Stew\n\nSee [[soup]].\n", "utf-8")
    assert dowse("index", home / "recipes").code == 0
    page = two.open("#project=all&view=graph", reduced_motion="reduce")
    expect(page.locator(".graph-panel")).to_contain_text("8 documents")
    expect(page.locator(".graph-panel")).to_contain_text("in 2 projects")
    for project, title in (("recipes", "Stew"), ("notes", "Lonely")):
        page.fill("#graph-find", f"{project}: lonely")
        expect(page.locator("#graph-found button")).to_have_count(1)
        page.press("#graph-find", "Enter")
        expect(page.locator("#reader h2").first).to_have_text(title)
        assert f"in={project}" in page.url
    chosen = "document.getElementById('graph-canvas').picture.chosen"
    assert page.evaluate(chosen) == "notes: lonely.md"
    page.route("**/api/v1/graph?project=recipes*", lambda route: route.fulfill(status=500, json={}))
    page.reload()
    expect(page.locator(".graph-panel .notice")).to_contain_text("recipes: The server said 500")
    expect(page.locator(".graph-panel")).to_contain_text("6 documents")
    two.troubles.clear()  # the browser reports the answer that this test made up


def test_an_unknown_project_in_the_address_is_reported_and_not_replaced(two: Any) -> None:
    page = two.open("#q=leek&project=recipies")
    expect(page.locator("#unknown-project")).to_contain_text("There is no project “recipies” here.")
    expect(page.locator("#status-text")).to_have_text("No such project")
    expect(page.locator(".hit")).to_have_count(0)
    assert "project=recipies" in page.url
    page.locator("#unknown-project button", has_text="recipes").click()
    expect(page.locator(".hit-title").first).to_have_text("Soup")
    expect(page.locator("#unknown-project")).to_have_count(0)


class _Restarting:
    """A server that a test can stop and start again at the same address."""

    def __init__(self, service: EnginePool) -> None:
        self._service = service
        self.port = 0
        self.start()

    def start(self) -> None:
        listening = bind("127.0.0.1", self.port)
        self.port = listening.getsockname()[1]
        self._server = Server(application(self._service, Access(), watch=False))
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)


@pytest.fixture
def restarting(service: EnginePool) -> Iterator[_Restarting]:
    """The server over the notes, which can go away."""
    server = _Restarting(service)
    yield server
    server.stop()


def test_the_dot_shows_that_the_server_is_away_and_the_page_recovers(
    restarting: _Restarting, browser: Any
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(f"http://127.0.0.1:{restarting.port}/#q=lighthouse")
    expect(page.locator("#status-dot.good")).to_be_visible()
    restarting.stop()
    expect(page.locator("#status-text")).to_have_text("The server does not answer", timeout=15_000)
    expect(page.locator("#status-dot.bad")).to_be_visible()
    page.fill("#query", "barometer")
    expect(page.locator("#notices [role=alert]")).to_contain_text("dowse serve")
    restarting.start()
    expect(page.locator(".hit-title").first).to_have_text("Long", timeout=15_000)
    expect(page.locator("#status-dot.good")).to_be_visible()
    expect(page.locator("#notices [role=alert]")).to_have_count(0)
    context.close()
