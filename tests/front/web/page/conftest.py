from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import Server, application, bind
from dowse._project.pool import EnginePool
from gates import find_tool

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
_PATIENCE = 30_000  # milliseconds that a page is given to show what is waited for


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one file: while it is open, nothing else can run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = find_tool("chromium", "chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    playwright.expect.set_options(timeout=_PATIENCE)
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=_FLAGS)
        yield browser
        browser.close()


@dataclass
class Site:
    """A running server, and what the pages opened on it did."""

    address: str
    browser: Browser
    asked: list[str] = field(default_factory=list)  # the address of every request
    troubles: list[str] = field(default_factory=list)  # errors, dialogs, refusals of the policy
    _contexts: list[Any] = field(default_factory=list)

    def open(self, hash_: str = "", **options: Any) -> Page:
        """A page in a window of its own."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("console", self._heard)
        page.goto(self.address + hash_)
        page.wait_for_selector("#status-dot.good, #status-dot.warn, #status-dot.bad")
        return page

    def _dismiss(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text} {message.location.get('url', '')}")

    def alter(self, page: Page, change: Callable[[dict[str, Any]], None]) -> None:
        """Lets a test change what the server answers to a search."""

        def answer(route: Any) -> None:
            response = route.fetch()
            told = response.json()
            change(told)
            route.fulfill(response=response, json=told)

        page.route("**/api/v1/search?*", answer)

    def close(self) -> None:
        """Closes all pages; raises when one of them reached outside or went wrong."""
        for context in self._contexts:
            context.close()
        inside = (self.address, "data:", "blob:")
        assert [url for url in self.asked if not url.startswith(inside)] == []
        assert self.troubles == []


@pytest.fixture
def serving(browser: Browser, service: EnginePool) -> Iterator[Callable[..., Site]]:
    """Starts the real server over the notes; it ends before the notes are removed."""
    sites: list[Site] = []
    servers: list[tuple[Server, threading.Thread]] = []

    def serve(access: Access | None = None) -> Site:
        listening = bind("127.0.0.1", 0)
        server = Server(application(service, access or Access(), watch=False))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        servers.append((server, thread))
        sites.append(Site(f"http://127.0.0.1:{listening.getsockname()[1]}/", browser))
        return sites[-1]

    try:
        yield serve
        for site in sites:
            site.close()
    finally:
        for server, thread in servers:
            server.should_exit = True
            thread.join(timeout=10)


@pytest.fixture
def site(serving: Callable[..., Site]) -> Site:
    """The server over the notes."""
    return serving()
