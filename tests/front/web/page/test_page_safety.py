from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dowse._interfaces.http.security import Access
from dowse._project.pool import EnginePool

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

_TOKEN = "a-long-secret"  # noqa: S105  it opens nothing
_RUNS = "window.ran = true; alert(1); fetch('http://outside.invalid/')"
_HOSTILE = f"""---
title: <script>{_RUNS}</script><img src=x onerror="{_RUNS}">
tags: ["<b onclick=alert(1)>tag</b>", evil]
---
# Hostile <script>{_RUNS}</script> heading

The hostile note attacks <img src="http://outside.invalid/a.png" onerror="{_RUNS}"> and
![remote](http://outside.invalid/b.png) and ![[http://outside.invalid/c.png]].

<svg onload="{_RUNS}"><script>{_RUNS}</script></svg>
<iframe src="javascript:{_RUNS}"></iframe><object data="http://outside.invalid/d"></object>
<style>@import "http://outside.invalid/e.css";
* {{ background: url(http://outside.invalid/f) }}</style>
<form action="http://outside.invalid/g"><button autofocus onfocus="{_RUNS}">press</button></form>
<meta http-equiv="refresh" content="0; url=http://outside.invalid/h">
<base href="http://outside.invalid/">
<p style="position:fixed;inset:0;background:url(http://outside.invalid/i)">covered</p>

[click me](javascript:{_RUNS.replace(" ", "%20")}) [data](data:text/html,<script>{_RUNS}</script>)
<a href="JaVaScRiPt:{_RUNS}" id="query" name="results">named</a>
**bold** ** ** [[<script>alert(1)</script>]]

```html
<script>{_RUNS}</script>
```
"""


def _reindexed(service: EnginePool) -> None:
    job = service.index(service.select())
    assert job.ended.wait(20)
    assert job.error is None


def test_a_document_full_of_script_does_nothing(
    serving: Callable[..., Any], service: EnginePool, notes: Path
) -> None:
    (notes / "hostile.md").write_text(_HOSTILE, "utf-8")
    _reindexed(service)
    site = serving()
    page = site.open("#q=hostile attacks")
    expect(page.locator(".hit").first).to_contain_text("<script>")
    expect(page.locator("#reader h2").first).to_contain_text("<script>")
    expect(page.locator(".prose")).to_contain_text("hostile note attacks")
    assert page.locator("script").count() == 1  # the page's own
    forbidden = ".prose :is(script, style, iframe, object, embed, svg, form, button, img, input)"
    assert page.locator(forbidden).count() == 0
    for link in page.locator(".prose a").all():
        if link.get_attribute("href"):
            assert str(link.get_attribute("href")).startswith(("http", "?", "#", "mailto:"))
    assert page.locator("#query").count() == 1
    for tab in ("related", "why"):
        page.click(f"#tab-{tab}")
    page.click("#view-graph")
    page.fill("#graph-find", "hostile")
    page.press("#graph-find", "Enter")
    expect(page.locator("#reader h2").first).to_contain_text("<script>")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.styleSheets.length") == 4


def test_what_an_address_says_is_text(site: Any) -> None:
    page = site.open(
        "#q=<img src=x onerror=alert(1)>&filter=tag:<b>x</b>&set=<i>=1&open=<svg onload=alert(1)>"
    )
    expect(page.locator(".chip.on")).to_have_text("tag: <b>x</b>")
    expect(page.locator("#reader [role=alert]")).to_be_visible()
    assert page.locator("main img").count() == 0
    page.wait_for_load_state("networkidle")
    site.troubles[:] = [one for one in site.troubles if "status of 4" not in one]


@pytest.fixture
def guarded(serving: Callable[..., Any]) -> Iterator[tuple[Any, str]]:
    """A page that nobody has given the token yet, and where the server is."""
    site = serving(Access(token=_TOKEN))
    context = site.browser.new_context()
    page = context.new_page()
    page.set_default_timeout(8_000)
    yield page, site.address
    context.close()


def test_a_token_is_asked_for_and_kept(guarded: tuple[Any, str]) -> None:
    page, address = guarded
    page.goto(address + "#q=restore")
    page.fill("#token-value", "a wrong one")
    page.press("#token-value", "Enter")
    expect(page.locator("#token-wrong")).to_be_visible()
    page.fill("#token-value", _TOKEN)
    page.press("#token-value", "Enter")
    expect(page.locator(".hit").first).to_be_visible()
    page.reload()
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator("#token")).to_be_hidden()
    assert page.context.cookies() == []


def test_a_token_need_not_be_given(guarded: tuple[Any, str]) -> None:
    page, address = guarded
    page.goto(address)
    page.fill("#token-value", "a wrong one")
    page.press("#token-value", "Enter")
    expect(page.locator("#token-wrong")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#notices [role=alert]")).to_contain_text("asks for a token")
    expect(page.locator("#token")).to_be_hidden()


def test_a_link_brings_the_token_which_does_not_stay_in_the_address(
    guarded: tuple[Any, str],
) -> None:
    page, address = guarded
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}#token={_TOKEN}&q=restore")
    expect(page.locator(".hit").first).to_be_visible()
    assert _TOKEN not in page.url
    assert "q=restore" in page.url
    assert not [url for url in asked if _TOKEN in url.partition("#")[0]]
    page.reload()
    expect(page.locator(".hit").first).to_be_visible()


def test_the_state_of_the_index_is_shown_and_fixed(site: Any, notes: Path) -> None:
    (notes / "fresh.md").write_text("# Fresh\n\nA zeppelin was seen.\n", "utf-8")
    page = site.open()
    expect(page.locator("#status-text")).to_contain_text("1 to index")
    page.click("#status")
    expect(page.locator("#index")).to_contain_text("1 new")
    expect(page.locator("#index")).to_contain_text("Watching for changesno")
    page.click("#index-start")
    expect(page.locator("#index")).to_contain_text("Not indexed yetnothing")
    page.keyboard.press("Escape")
    expect(page.locator("#status-text")).to_have_text("7 documents")
    page.fill("#query", "zeppelin")
    expect(page.locator(".hit-title").first).to_have_text("Fresh")
