"""Keys, phones, colours and readers: the page for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
axe_playwright_python = pytest.importorskip("axe_playwright_python")

# For every visible text: its contrast with what lies behind it.
_CONTRAST = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  const poor = [];
  for (const field of document.querySelectorAll("input[placeholder]")) {
    if (!field.checkVisibility()) continue;
    const hint = rgba(getComputedStyle(field, "::placeholder").color);
    const [a, b] = [light(hint), light(behind(field))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`placeholder ${field.placeholder}`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const words = walker.currentNode.data.trim();
    if (!words || !node.checkVisibility() || node.closest("option, noscript, :disabled")) continue;
    const style = getComputedStyle(node);
    const colour = node.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(rgba(colour)), light(behind(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) poor.push(`${words}: ${contrast.toFixed(2)}`);
  }
  return poor;
}"""

# For every community: the contrast of its colour with the ground that discs lie on.
_DISCS = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  };
  const canvas = document.getElementById("graph-canvas");
  const ground = light(getComputedStyle(canvas).backgroundColor);
  const poor = [];
  for (const community of [null, ...new Set(canvas.picture.nodes.map((node) => node.community))]) {
    const colour = canvas.picture.colour(community);
    const [a, b] = [light(colour), ground].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 3) poor.push(`${colour}: ${(a + 0.05) / (b + 0.05)}`);
  }
  return poor;
}"""

_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_RUN_AXE = """async (rules) => (await axe.run({ resultTypes: ["violations"], ...rules })).violations
  .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`))"""
_EVERY_RULE: dict[str, Any] = {}
_RULES_OF_COLOURS: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"]}
_DEVICES: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone": {"viewport": {"width": 360, "height": 720}, "is_mobile": True, "has_touch": True},
}


def _findings(page: Any) -> list[str]:
    """What axe-core finds, texts without contrast, and whether the page is too wide.

    Dark differs from light by its colours alone, so only the rules of colours are tried on both.
    """
    found: list[str] = []
    for scheme, rules in (("light", _EVERY_RULE), ("dark", _RULES_OF_COLOURS)):
        page.emulate_media(color_scheme=scheme)
        said = page.evaluate(_RUN_AXE, rules) + page.evaluate(_CONTRAST)
        found += [f"{scheme}: {one}" for one in said]
    return found + (["too wide"] if page.evaluate(_TOO_WIDE) > 0 else [])


def test_everything_can_be_done_with_keys(site: Any) -> None:
    page = site.open()
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.insert_text("database")  # at once: letter by letter, a later list may move hits
    expect(page.locator(".hit").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    second = page.locator(".hit").nth(1)
    expect(second).to_have_attribute("aria-selected", "true")
    expect(page.locator("#query")).to_have_attribute(
        "aria-activedescendant", str(second.get_attribute("id"))
    )
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#reader-body")).to_be_focused()
    page.keyboard.press("w")
    expect(page.locator("#tab-why")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_have_value("")
    expect(page.locator(".hit")).to_have_count(0)
    page.locator("#query").blur()
    page.keyboard.press("g")
    expect(page.locator("#graph-view")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#search-view")).to_be_visible()


def test_the_focus_stays_where_the_hands_are(site: Any) -> None:
    page = site.open("#q=wait for the database to answer")
    link = page.locator(".prose a", has_text="stations")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reader h2").first).to_have_text("Stations")
    expect(page.locator("#reader-body")).to_be_focused()
    page.locator("#tab-document").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-why")).to_be_focused()
    page.locator("#tab-related").click()
    expect(page.locator("#tab-related")).to_be_focused()
    page.locator(".related-link").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reader-body")).to_be_focused()
    page.get_by_role("button", name="Close the document").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#query")).to_be_focused()
    page.get_by_role("button", name="Only path guides/").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".chip.on")).to_have_text("path: guides/")
    expect(page.locator("#filter-add")).to_be_focused()


def test_a_phone_shows_the_start_and_a_slow_answer_without_scrolling_sideways(site: Any) -> None:
    page = site.open(viewport={"width": 375, "height": 720}, is_mobile=True, has_touch=True)
    assert page.evaluate(_TOO_WIDE) <= 0
    page.route("**/api/v1/search?*", lambda _: None)  # the answer never comes
    page.fill("#query", "database")
    expect(page.locator("#working")).to_be_visible()
    assert page.evaluate(_TOO_WIDE) <= 0


def test_on_a_phone_a_document_covers_the_results_and_goes_away_again(site: Any) -> None:
    page = site.open(
        "#q=database", viewport={"width": 375, "height": 720}, is_mobile=True, has_touch=True
    )
    expect(page.locator("#reader")).to_be_hidden()
    assert page.evaluate(_TOO_WIDE) <= 0
    page.locator(".hit").first.tap()
    expect(page.locator("#reader")).to_be_visible()
    box = page.locator("#reader").bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["width"]) == (0, 0, 375)
    page.locator("#tab-why").tap()
    expect(page.locator("svg.picture").first).to_be_visible()
    assert page.evaluate(_TOO_WIDE) <= 0
    page.get_by_role("button", name="Close the document").tap()
    expect(page.locator("#reader")).to_be_hidden()
    page.locator("#view-graph").tap()
    expect(page.locator("#graph-canvas")).to_be_visible()
    assert page.evaluate(_TOO_WIDE) <= 0


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_no_view_has_a_finding_of_axe_or_too_little_contrast(site: Any, device: str) -> None:
    page = site.open(reduced_motion="reduce", **_DEVICES[device])
    page.evaluate(_AXE.read_text("utf-8"))
    expect(page.locator(".begin-group").first).to_be_visible()
    assert _findings(page) == []
    page.fill("#query", "what must be stopped before a restore?")
    page.click("#answer-ask")
    expect(page.locator("#answer .source").first).to_be_visible()
    page.click("#filter-add")
    expect(page.locator(".chip.value").first).to_be_visible()
    assert _findings(page) == []
    page.keyboard.press("Escape")
    page.locator(".hit").first.click()
    page.click("#tab-why")
    page.click("#stages > summary")
    page.get_by_role("switch", name="Turns the score into a confidence").click()
    expect(page.locator("#stages-count")).to_be_visible()
    assert _findings(page) == []
    page.click("#stages-reset")
    page.click("#stages > summary")
    for tab, sign in (("why", "svg.picture"), ("related", ".related-link"), ("document", ".prose")):
        page.click(f"#tab-{tab}")
        expect(page.locator(sign).first).to_be_visible()
        assert _findings(page) == []
    page.get_by_role("button", name="Close the document").click()
    for opener, dialog in (("#help-open", "#help"), ("#status", "#index")):
        page.click(opener)
        expect(page.locator(dialog)).to_be_visible()
        assert _findings(page) == []
        page.keyboard.press("Escape")
    page.fill("#query", "database tag:nobody-has-this")
    expect(page.locator(".dropping")).to_be_visible()
    assert _findings(page) == []
    page.click("#view-graph")
    expect(page.locator(".legend").first).to_be_visible()
    assert _findings(page) == []
    page.fill("#graph-find", "stations")
    page.press("#graph-find", "Enter")
    expect(page.locator(".graph-view .reader h2").first).to_have_text("Stations")
    assert _findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_in_the_graph_and_its_discs_can_be_distinguished_from_the_ground(
    site: Any, scheme: Any
) -> None:
    page = site.open("#view=graph", color_scheme=scheme)
    expect(page.locator(".legend").first).to_be_visible()
    assert page.evaluate(_DISCS) == []


def test_dark_follows_the_system_until_the_user_chooses(site: Any) -> None:
    page = site.open(color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light colours").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == dark


def test_nothing_moves_for_those_who_want_it_still(site: Any) -> None:
    page = site.open("#q=restore the database&tab=why", reduced_motion="reduce")
    page.click("#stages > summary")
    page.get_by_role("switch", name="Drops near copies").click()
    expect(page.locator("#effect")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0
