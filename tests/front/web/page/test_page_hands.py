"""Keys, phones, colours and readers: the page for everybody."""

from __future__ import annotations

from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

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

_NAMELESS = """() => [...document.querySelectorAll("button, input, select, a[href], [tabindex]")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length ||
    one.getAttribute("aria-labelledby")))
  .map((one) => one.outerHTML)"""


def test_everything_can_be_done_with_keys(site: Any) -> None:
    page = site.open()
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("database")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(site: Any, scheme: Any) -> None:
    page = site.open("#q=restore the database&filter=tag:database", color_scheme=scheme)
    expect(page.locator(".of-hit").first).to_be_visible()
    page.click("#stages-toggle")
    page.get_by_role("switch", name="Calibrate").click()
    expect(page.locator("#effect")).to_be_visible()
    assert page.evaluate(_CONTRAST) == []
    page.click("#tab-why")
    assert page.evaluate(_CONTRAST) == []
    for opener, dialog in (("#help-open", "#help"), ("#status", "#index")):
        page.click(opener)
        expect(page.locator(dialog)).to_be_visible()
        assert page.evaluate(_CONTRAST) == []
        page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_answers_related_documents_and_the_graph_have_contrast(site: Any, scheme: Any) -> None:
    page = site.open("#q=what must be stopped before a restore?&tab=related", color_scheme=scheme)
    expect(page.locator("#answer .source").first).to_be_visible()
    expect(page.locator(".related-link").first).to_be_visible()
    page.click("#filter-add")
    assert page.evaluate(_CONTRAST) == []
    page.click("#view-graph")
    expect(page.locator(".legend").first).to_be_visible()
    page.locator(".legend").first.click()
    assert page.evaluate(_CONTRAST) == []
    page.fill("#graph-find", "stations")
    page.press("#graph-find", "Enter")
    expect(page.locator(".graph-view .reader h2").first).to_have_text("Stations")
    assert page.evaluate(_CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_in_the_graph_and_its_discs_can_be_distinguished_from_the_ground(
    site: Any, scheme: Any
) -> None:
    page = site.open("#view=graph", color_scheme=scheme)
    expect(page.locator(".legend").first).to_be_visible()
    assert page.evaluate(_DISCS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_start_has_contrast(site: Any, scheme: Any) -> None:
    page = site.open(color_scheme=scheme)
    expect(page.locator(".examples")).to_be_visible()
    assert page.evaluate(_CONTRAST) == []


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


def test_everything_that_takes_focus_has_a_name(site: Any) -> None:
    page = site.open("#q=restore")
    page.click("#stages-toggle")
    expect(page.locator(".of-hit").first).to_be_visible()
    assert page.evaluate(_NAMELESS) == []
    page.click("#view-graph")
    expect(page.locator(".legend").first).to_be_visible()
    assert page.evaluate(_NAMELESS) == []


def test_nothing_moves_for_those_who_want_it_still(site: Any) -> None:
    page = site.open("#q=restore the database", reduced_motion="reduce")
    page.click("#stages-toggle")
    page.get_by_role("switch", name="Near dedup").click()
    expect(page.locator("#effect")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0
