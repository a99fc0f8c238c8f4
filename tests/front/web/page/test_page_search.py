from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Dowse
from dowse._project.pool import EnginePool

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_results_appear_while_typing_with_matches_and_headings(site: Any) -> None:
    page = site.open()
    page.locator("#query").press_sequentially("restore")
    first = page.locator(".hit").first
    expect(first).to_contain_text("Restore a backup")
    expect(first.locator("mark").first).to_have_text(re.compile("restore", re.IGNORECASE))
    copy = page.locator(".hit", has_text="A copy")
    expect(copy.locator(".hit-line")).to_have_text("A copy › Restore a backup")
    expect(copy.locator(".hit-folder")).to_have_text("guides")
    expect(page.locator("#announcer")).to_contain_text("result")
    assert "q=restore" in page.url


def test_a_document_is_one_card_that_says_where_else_it_matches(site: Any) -> None:
    page = site.open("#q=barometer")
    card = page.locator(".hit", has_text="Long")
    expect(card).to_have_count(1)
    expect(card.locator(".hit-more")).to_have_text(re.compile(r"^\d+ more here$"))
    card.click()
    other = page.locator(".reader-path button").first
    line = re.search(r"\d+", other.inner_text())
    assert line
    other.click()
    page.wait_for_url(re.compile(rf"open=long\.md(:|%3A){line[0]}\b"))


def test_a_hit_in_a_pdf_names_its_page(
    site: Any, notes: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "## Page 11\n\nThe mast.\n\n## Page 12\n\nThe theodolite turns.\n"
    monkeypatch.setattr(sys.modules["dowse._index.source.load"], "convert", lambda *_: text)
    (notes / "manual.pdf").write_bytes(b"%PDF")
    assert dowse("index", notes).code == 0
    page = site.open("#q=theodolite")
    card = page.locator(".hit").first
    expect(card).to_contain_text("manual.pdf · p. 12")
    card.click()
    expect(page.locator(".reader-path")).to_contain_text("manual.pdf · p. 12")


def test_each_pause_asks_once_and_late_answers_are_dropped(site: Any) -> None:
    page = site.open()
    held: list[Any] = []
    asked = re.compile(r"/api/v1/search\?.*query=lighthouse")
    page.route(asked, lambda route: held.extend([route]))
    with page.expect_request(asked):
        page.fill("#query", "lighthouse")
    page.fill("#query", "barometer")
    expect(page.locator(".hit-title").first).to_have_text("Long")
    for route in held:  # the page has given it up: whether it still comes must not matter
        route.fulfill(status=200, json={})
    expect(page.locator(".hit-title").first).to_have_text("Long")
    expect(page.locator("#working")).to_be_hidden()


def test_the_document_is_shown_with_the_hit_marked(site: Any) -> None:
    page = site.open("#q=wait for the database to answer")
    expect(page.locator("#reader h2").first).to_have_text("Restore a backup")
    expect(page.locator(".of-hit mark").first).to_be_visible()
    link = page.locator(".prose a", has_text="stations")
    link.click()
    expect(page.locator("#reader h2").first).to_have_text("Stations")
    page.go_back()
    expect(page.locator("#reader h2").first).to_have_text("Restore a backup")


def test_what_belongs_to_a_document_is_listed(site: Any) -> None:
    page = site.open("#q=restore")
    page.click("#tab-related")
    expect(page.locator("#reader-body")).to_contain_text("Links to")
    page.locator(".related-link", has_text="Stations").first.click()
    expect(page.locator("#reader h2").first).to_have_text("Stations")


def test_filters_are_chips_and_their_values_are_listed_with_counts(site: Any) -> None:
    page = site.open("#q=database")
    expect(page.locator(".hit")).not_to_have_count(0)
    page.click("#filter-add")
    page.select_option("#filter-kind", "path")
    expect(page.get_by_role("button", name="guides/, 2 documents")).to_be_visible()
    page.select_option("#filter-kind", "where")
    page.fill("#filter-value", "author=")
    expect(page.locator(".chip.value")).to_have_text(["author=Ada Byron1", "author=Grace1"])
    page.select_option("#filter-kind", "category")
    page.fill("#filter-value", "refer")
    expect(page.locator(".chip.value")).to_have_count(1)
    page.get_by_role("button", name="reference, 1 document").click()
    expect(page.locator(".chip.on")).to_have_text("category: reference")
    expect(page.locator(".hit-title")).to_have_text(["Stations"])
    page.click(".chip.on")
    expect(page.locator(".chip.on")).to_have_count(0)
    page.get_by_role("button", name="Only path guides/").click()
    expect(page.locator(".chip.on")).to_have_text("path: guides/")
    expect(page.locator(".hit-title", has_text="Stations")).to_have_count(0)
    page.fill("#query", "")  # a filter alone lists what it lets pass
    expect(page.locator(".hit-title")).to_have_count(2)


def test_a_button_drops_the_condition_that_emptied_the_list(site: Any) -> None:
    page = site.open("#q=database&filter=tag:nobody-has-this")
    expect(page.locator(".found", has_text="Nothing found")).to_have_count(1)
    expect(page.locator(".summary")).to_be_empty()  # it is said once
    expect(page.locator(".dropping")).to_contain_text("tag: nobody-has-this excludes")
    page.get_by_role("button", name="Search without tag: nobody-has-this").click()
    expect(page.locator(".chip.on")).to_have_count(0)
    expect(page.locator(".hit")).not_to_have_count(0)
    page.fill("#query", "database tag:nobody-has-this")
    page.get_by_role("button", name="Search without tag:nobody-has-this").click()
    expect(page.locator("#query")).to_have_value("database")
    expect(page.locator(".hit")).not_to_have_count(0)


def test_a_mistake_is_reported_with_what_to_do(site: Any) -> None:
    page = site.open("#q=database&filter=after:someday")
    expect(page.locator("#notices [role=alert]")).to_be_visible()
    site.troubles.clear()  # the browser notes the refused request


def test_the_mode_can_be_chosen(site: Any) -> None:
    page = site.open("#q=getStationById")
    page.select_option("#mode", "code")
    expect(page.locator(".hit-title").first).to_have_text("Stations")
    assert "mode=code" in page.url


def test_another_project_can_be_chosen(
    serving: Callable[..., Any], home: Path, dowse: Dowse
) -> None:
    (home / "recipes").mkdir()
    (home / "recipes" / "soup.md").write_text("# Soup\n\nLeek and potato.\n", "utf-8")
    assert dowse("index", home / "recipes").code == 0
    page = serving().open("#q=leek")
    expect(page.locator("#project option")).to_have_text(["All projects", "notes", "recipes"])
    page.select_option("#project", "recipes")
    expect(page.locator(".hit-title").first).to_have_text("Soup")
    expect(page.locator("#status-text")).to_have_text("1 document")
    assert "project=recipes" in page.url


def test_more_results_are_shown_when_there_are_some(site: Any) -> None:
    page = site.open("#q=barometer of part&n=2")
    expect(page.locator(".hit")).to_have_count(2)
    page.locator("#more").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".hit")).to_have_count(4)
    expect(page.locator("#more")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".hit")).to_have_count(6)
    expect(page.locator("#more")).to_have_count(0)  # all documents are listed
    page.fill("#query", "lighthouse")
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    assert "n=8" not in page.url


def test_links_lead_to_their_project_in_a_new_tab_too(site: Any) -> None:
    page = site.open("#q=wait for the database to answer")
    link = page.locator(".prose a", has_text="stations")
    address = str(link.get_attribute("href"))
    assert address == "?project=notes&document=reference%2Fstations.md"
    other = site.open(address)
    expect(other.locator("#reader h2").first).to_have_text("Stations")


_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_pictures_in_the_folder_are_shown_and_documents_can_be_copied_and_opened(
    serving: Callable[..., Any], service: EnginePool, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_OPEN_EDITOR", "code")
    (notes / ".obsidian").mkdir()
    (notes / "mast.png").write_bytes(base64.b64decode(_PNG))
    text = "# Mast\n\n## Drawing\n\nThe windsock: ![a mast](mast.png), ![far](http://a.invalid/b.png)\n"
    (notes / "mast.md").write_text(text, "utf-8")
    assert service.index(service.select()).ended.wait(20)
    page = serving().open("#q=windsock", permissions=["clipboard-read", "clipboard-write"])
    picture = page.get_by_role("img", name="a mast")
    expect(picture).to_be_visible()
    assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth)") == 1
    expect(page.locator(".prose img")).to_have_count(1)  # the other one is elsewhere
    expect(page.locator(".prose")).to_contain_text("far")
    page.click("#copy-path")
    expect(page.locator("#copy-path")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == str(notes / "mast.md")
    page.click("#copy-citation")
    expect(page.locator("#announcer")).to_have_text(
        re.compile(r"^Copied: Mast › Drawing \(mast\.md:\d-5\)$")
    )
    href = page.locator("#open-editor").get_attribute("href")
    assert href == f"vscode://file{notes}/mast.md:5"
    expect(page.locator("#open-obsidian")).to_have_attribute("href", re.compile("^obsidian:"))


# ── Answers ──────────────────────────────────────────────────────────────────


def _make_strong(told: dict[str, Any]) -> None:
    """Says that the first result is strong: only a model whose confidence is known can."""
    told["hits"][0]["match"] = "strong"


def test_a_question_is_answered_with_sources(site: Any) -> None:
    page = site.open()
    site.alter(page, _make_strong)
    page.locator("#query").press_sequentially("what must be stopped before a restore")
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator("#answer")).to_be_hidden()
    page.locator("#query").press_sequentially("?")
    expect(page.locator("#answer")).to_contain_text("Stop the writer before you restore")
    expect(page.locator("#announcer")).to_contain_text("Answer:")
    source = page.locator("#answer .source").first
    source.click()
    place = int(source.inner_text()) - 1
    expect(page.locator(".hit").nth(place)).to_have_attribute("aria-selected", "true")
    page.fill("#query", "lighthouse")
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    expect(page.locator("#answer")).to_be_hidden()


def test_a_question_is_not_answered_unless_the_first_result_is_strong(site: Any) -> None:
    page = site.open("#q=what must be stopped before a restore?")
    expect(page.locator(".hit-match").first).to_have_text("possible")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#answer")).to_be_hidden()
    page.click("#answer-ask")
    expect(page.locator("#answer")).to_contain_text("Stop the writer before you restore")


def test_an_answer_can_be_asked_for_and_closed(site: Any) -> None:
    page = site.open("#q=stop the writer")
    expect(page.locator(".hit").first).to_be_visible()
    page.locator("#query").blur()
    page.keyboard.press("a")
    expect(page.locator("#answer")).to_contain_text("In the words of the documents")
    page.get_by_role("button", name="Close the answer").click()
    expect(page.locator("#answer")).to_be_hidden()
    page.click("#answer-ask")
    expect(page.locator("#answer")).to_contain_text("writer")


def test_results_do_not_wait_for_the_answer(site: Any) -> None:
    page = site.open()
    page.route("**/api/v1/answer?*", lambda _: None)  # it never comes
    page.fill("#query", "what is the barometer?")
    expect(page.locator(".hit-title").first).to_have_text("Long")
    expect(page.locator("#working")).to_be_hidden()
    page.fill("#query", "where is the lighthouse?")
    expect(page.locator(".hit-title").first).to_have_text("Lonely")
    expect(page.locator("#answer")).to_be_hidden()
