from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


_POINT = "(id) => document.getElementById('graph-canvas').picture.pointOf(id)"


def test_the_graph_shows_documents_by_community_and_a_click_opens_one(site: Any) -> None:
    page = site.open(reduced_motion="reduce")
    page.click("#view-graph")
    expect(page.locator(".graph-panel")).to_contain_text("6 documents")
    expect(page.locator(".legend").first).to_be_visible()
    point = page.evaluate(_POINT, "reference/stations.md")
    page.locator("#graph-canvas").click(position=point)
    expect(page.locator("#reader h2").first).to_have_text("Stations")
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()


def test_communities_have_different_colours(site: Any) -> None:
    page = site.open("#view=graph")
    expect(page.locator(".legend").first).to_be_visible()
    dots = page.locator(".legend .dot")
    colours = [dots.nth(at).evaluate("(dot) => dot.style.background") for at in range(dots.count())]
    assert all(colours)
    assert len(set(colours)) == len(colours)
    page.locator(".legend").first.click()
    expect(page.locator(".legend").first).to_have_attribute("aria-pressed", "true")


def test_documents_are_found_in_the_graph(site: Any) -> None:
    page = site.open("#view=graph")
    page.fill("#graph-find", "lonely")
    expect(page.locator("#graph-found button")).to_have_count(1)
    page.press("#graph-find", "Enter")
    expect(page.locator("#reader h2").first).to_have_text("Lonely")
    page.fill("#graph-find", "nothing is called so")
    expect(page.locator("#graph-found")).to_contain_text("No document")


def test_the_graph_zooms_by_wheel_buttons_and_keys(site: Any) -> None:
    page = site.open("#view=graph", reduced_motion="reduce")
    zoom = "() => document.getElementById('graph-canvas').picture.view.zoom"
    expect(page.locator("#graph-canvas")).to_be_visible()
    first = page.evaluate(zoom)
    page.get_by_role("button", name="Zoom in").click()
    second = page.evaluate(zoom)
    assert second > first
    page.locator("#graph-canvas").hover(position={"x": 600, "y": 300})
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => ({zoom})() > {second}")
    page.locator("#graph-canvas").focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.wait_for_function(f"() => Math.abs(({zoom})() - {first}) < 0.01")


def test_a_graph_of_thousands_settles_and_can_be_used(site: Any) -> None:
    page = site.open()
    documents = [
        {"id": f"{at}.md", "title": f"Note {at}", "community": at % 40, "tags": []}
        for at in range(3000)
    ]
    edges = [
        {"source": f"{at}.md", "target": f"{(at * 7 + 40 * step) % 3000}.md"}
        for at in range(3000)
        for step in (1, 2)
    ]
    told = {"project": "notes", "documents": documents, "edges": edges}
    page.route("**/api/v1/graph?*", lambda route: route.fulfill(json=told))
    page.click("#view-graph")
    expect(page.locator(".graph-panel")).to_contain_text("3,000 documents")
    page.fill("#graph-find", "Note 2999")
    expect(page.locator("#graph-found button")).to_have_count(1)
    settled = "() => document.getElementById('graph-canvas').picture.step === 260"
    page.wait_for_function(settled, timeout=60_000)
    far = "(node) => Number.isFinite(node.x) && Math.hypot(node.x, node.y) < 1e5"
    nodes = "document.getElementById('graph-canvas').picture.nodes"
    assert page.evaluate(f"{nodes}.every({far})")


def test_the_graph_is_drawn_again_when_the_index_changes(site: Any, notes: Path) -> None:
    page = site.open("#view=graph")
    expect(page.locator(".graph-panel")).to_contain_text("6 documents")
    (notes / "fresh.md").write_text("# Fresh\n\nSee [[stations]].\n", "utf-8")
    page.click("#status")
    page.click("#index-start")
    expect(page.locator("#index")).to_contain_text("7 documents")
    page.keyboard.press("Escape")
    expect(page.locator(".graph-panel")).to_contain_text(re.compile("7 documents"))
    page.get_by_role("button", name="Zoom in").click()
