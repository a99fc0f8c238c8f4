from __future__ import annotations

import re
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_why_here_draws_strategies_and_stages(site: Any) -> None:
    page = site.open("#q=restore the database")
    page.click("#tab-why")
    pictures = page.locator("#reader-body svg.picture")
    expect(pictures).to_have_count(3)
    expect(pictures.nth(0)).to_have_attribute("aria-label", re.compile("semantic.*keyword"))
    expect(pictures.nth(0)).to_contain_text("By meaning")  # plain words come before the name
    expect(pictures.nth(1)).to_have_attribute("aria-label", re.compile(r"calibrate \d"))
    expect(pictures.nth(1)).to_contain_text("Turns the score into a confidence")
    expect(pictures.nth(2)).to_have_attribute("aria-label", re.compile(r"retrieve \d+"))
    page.locator("#reader-body summary").first.click()
    expect(page.locator("#reader-body table").first).to_contain_text("keyword")


def test_what_changed_nothing_is_folded(site: Any) -> None:
    page = site.open("#q=restore the database&tab=why")
    folded = page.locator("#reader-body .folded").last
    expect(folded).to_contain_text("dropped no candidate")
    expect(folded.locator("li", has_text="exact_dedup")).to_be_hidden()
    funnel = page.locator("svg.picture").last
    expect(funnel).not_to_have_attribute("aria-label", re.compile("exact_dedup"))
    folded.locator("summary").click()
    expect(folded.locator("li", has_text="Drops exact copies")).to_be_visible()


def test_why_not_here_is_reported_for_a_document_that_was_not_found(site: Any) -> None:
    page = site.open("#q=restore&mode=keyword&open=lonely.md&tab=why")
    expect(page.locator(".verdict")).to_contain_text("not found by words")


def test_switches_show_their_effect_at_once(site: Any) -> None:
    page = site.open("#q=restore the database&tab=why")
    number = page.locator(".mini title").first
    before = number.text_content() or ""
    page.click("#stages > summary")
    page.get_by_role("switch", name="Turns the score into a confidence").click()
    expect(page.locator("#effect")).to_be_visible()
    expect(number).not_to_have_text(before)
    expect(page.locator("#stages-count")).to_have_text("1")
    assert "set=calibrate.enabled" in page.url
    page.click("#stages-reset")
    expect(page.locator("#effect")).to_have_count(0)
    expect(number).to_have_text(before)
    page.get_by_role("switch", name="Drops exact copies").click()
    page.click("#changes-undo")
    expect(page.locator("#effect")).to_have_count(0)


def test_a_change_names_what_moved(site: Any) -> None:
    page = site.open("#q=barometer&set=documents.passages=true")
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator("#effect")).to_contain_text("new")
    expect(page.locator(".hit-move", has_text="new").first).to_be_visible()


def test_every_stage_has_its_switches(site: Any) -> None:
    page = site.open("#q=restore")
    expect(page.locator("#reader")).to_be_visible()
    page.locator("#query").blur()
    asked = page.evaluate("fetch('api/v1/settings').then((answer) => answer.json())")
    page.keyboard.press("s")
    names = {one["name"] for one in asked["settings"]} - {"search.mode", "search.top_n"}
    expect(page.locator("#stages [id^='set-']")).to_have_count(len(names))
    page.locator("#stages details[data-stage='classify'] summary").click()
    number = page.locator("[id='set-classify.factual']")
    number.fill("2.5")
    expect(page.locator("#stages-count")).to_have_text("1")
    expect(number).to_be_focused()
    expect(number).to_have_value("2.5")


def test_a_preset_moves_the_switches_with_it(site: Any) -> None:
    page = site.open("#q=restore&tab=why")
    page.click("#stages > summary")
    page.locator("#stages details summary").first.click()
    page.select_option("[id='set-search.preset']", "seed-a")
    expect(page.get_by_role("switch", name="Adds what is linked with them")).to_be_checked()
    expect(page.locator("#effect")).to_be_visible()
