"""What the list of results shows and selects: the page asks a server whose answers are given."""

from __future__ import annotations

import re
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_a_new_query_selects_its_first_result_unless_an_arrow_key_chose_one(site: Any) -> None:
    page = site.open("#q=database")
    selected = page.locator(".hit[aria-selected=true] .hit-title")
    page.locator(".hit").nth(1).click()
    clicked = selected.inner_text()
    page.fill("#query", "database restore writer")
    expect(page.locator(".hit").first).to_have_attribute("aria-selected", "true")
    page.fill("#query", "database")
    expect(page.locator(".hit-title").nth(1)).to_have_text(clicked)
    expect(page.locator(".hit").first).to_have_attribute("aria-selected", "true")
    page.press("#query", "ArrowDown")
    expect(selected).to_have_text(clicked)
    page.fill("#query", "database restore")
    expect(page.locator("#results.old")).to_have_count(0)
    expect(selected).to_have_text(clicked)
    page.fill("#query", "lighthouse")  # it is another question, though the list has all documents
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    expect(page.locator(".hit").first).to_have_attribute("aria-selected", "true")


def test_the_field_stays_in_view_and_a_key_leads_to_it(site: Any) -> None:
    page = site.open(
        "#q=database&set=documents.passages=true&n=40", viewport={"width": 1000, "height": 400}
    )
    expect(page.locator(".hit").first).to_be_visible()
    page.mouse.move(100, 300)
    page.mouse.wheel(0, 2000)
    page.wait_for_function("() => scrollY > 300")
    expect(page.locator("#query")).to_be_in_viewport()
    box = page.locator("#reader").bounding_box()
    assert box is not None
    assert box["y"] >= page.locator("#search").bounding_box()["y"]
    page.locator("#tab-why").focus()
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("lighthouse")  # the old words are selected
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    page.locator("#tab-why").focus()
    page.keyboard.press("Meta+k")
    expect(page.locator("#query")).to_be_focused()


def test_the_list_says_how_many_there_are_in_all(site: Any) -> None:
    page = site.open()
    site.alter(page, lambda told: told.update(total=1234, total_is_exact=True))
    page.fill("#query", "database")
    expect(page.locator("#found-count")).to_have_text(re.compile(r"^\d of 1,234 results in"))
    expect(page.locator("#more")).to_be_visible()


def test_the_list_says_when_it_was_not_counted(site: Any) -> None:
    page = site.open()
    site.alter(page, lambda told: told.update(total=1234, total_is_exact=False))
    page.fill("#query", "database")
    expect(page.locator("#found-count")).to_have_text(re.compile(r"^\d of at least 1,234 results"))


def test_the_bar_of_a_match_is_as_long_as_its_score(site: Any) -> None:
    page = site.open()
    given = [(0.8, "strong"), (0.4, "possible"), (0.0, "weak")]

    def change(told: dict[str, Any]) -> None:
        for place, hit in enumerate(told["hits"]):
            hit["score"], hit["match"] = given[min(place, 2)]
            hit["reason"] = "2 of 3 words found"

    site.alter(page, change)
    page.fill("#query", "database")
    expect(page.locator(".hit-match").nth(0)).to_have_text("strong")
    expect(page.locator(".hit-match").nth(2)).to_have_text("weak")
    expect(page.locator(".hit-verdict").first).to_have_text("strong: 2 of 3 words found")
    length = """(bars) => bars.map((bar) => [...bar.querySelectorAll("rect:not(.track)")]
      .reduce((sum, one) => sum + one.width.baseVal.value, 0))"""
    expect(page.locator(".mini title").first).to_have_text(re.compile("Strength 0.80 of 1"))
    drawn = page.locator(".mini").evaluate_all(length)
    assert [round(one) for one in drawn[:3]] == [80, 40, 0]


@pytest.mark.parametrize("kind", ["marked", "below the threshold"])
def test_a_list_without_a_good_match_is_dimmed_and_opens_nothing(site: Any, kind: str) -> None:
    page = site.open("#q=database")
    expect(page.locator("#reader")).to_be_visible()

    def change(told: dict[str, Any]) -> None:
        told["no_good_match"] = True
        if kind == "below the threshold":
            told["hits"], told["nearest"] = [], told["hits"]

    site.alter(page, change)
    page.fill("#query", "database writer")
    expect(page.locator("#no-match")).to_have_text("No good match. Nearest:")
    expect(page.locator("#results")).to_have_class("results weak")
    expect(page.locator(".hit[aria-selected=true]")).to_have_count(0)
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#announcer")).to_contain_text("No good match")
    page.press("#query", "ArrowDown")
    expect(page.locator(".hit").first).to_have_attribute("aria-selected", "true")
    expect(page.locator("#reader")).to_be_visible()
    page.unroute_all()
    page.fill("#query", "lighthouse")
    expect(page.locator("#no-match")).to_have_count(0)
    expect(page.locator("#results")).to_have_class("results")
