"""Takes the pictures of the docs: serves the example vault and photographs the page in Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse._interfaces.cli.main import run
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import Server, application, bind
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent.parent
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}


@dataclass(frozen=True)
class Shot:
    """A picture: the address, what must be visible, and what is clicked before."""

    name: str
    address: str
    wait: str
    clicks: tuple[str, ...] = ()
    size: dict[str, int] = field(default_factory=lambda: DESKTOP)
    scheme: str = "light"


SHOTS = (
    Shot("web-start", "", ".begin-group"),
    Shot("web-search", "#q=why do the masts not carry a SIM card", ".of-hit"),
    Shot(
        "web-why",
        "#q=restore the database&tab=why",
        "svg.picture",
        ("#stages-toggle",),
        scheme="dark",
    ),
    Shot("web-graph", "#view=graph", ".legend"),
    Shot("web-phone", "#q=restore the database", ".hit", size=PHONE),
)
"""All pictures of docs/web.md."""


def main(folder: Path) -> None:
    """Takes all pictures into a folder."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only developers have it

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is not installed. Install it with: apt-get install chromium")
    _check_fonts()
    folder.mkdir(parents=True, exist_ok=True)
    with _serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in SHOTS:
            _take(browser, address, shot, folder / f"{shot.name}.png")
            print(folder / f"{shot.name}.png")
        browser.close()


def _check_fonts() -> None:
    """Ends where a language of the example vault would be drawn as empty boxes."""
    for language in ("ja", "zh"):
        listed = ["fc-list", f":lang={language}", "family"]
        found = subprocess.run(listed, capture_output=True, check=True)  # noqa: S603  fixed words
        if not found.stdout.strip():
            sys.exit(
                f"No font has the characters of the language {language}."
                " Install one with: apt-get install fonts-noto-cjk"
            )


def _take(browser: Browser, address: str, shot: Shot, file: Path) -> None:
    options: dict[str, Any] = {"viewport": shot.size, "color_scheme": shot.scheme}
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    page.goto(address + shot.address)
    for place in shot.clicks:
        page.click(place)
    page.wait_for_selector(shot.wait)
    _settle(page)
    page.screenshot(path=file)
    context.close()


def _settle(page: Page) -> None:
    """Waits until nothing is asked for any more, and nothing has the focus."""
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")


@contextmanager
def _serving() -> Iterator[str]:
    """The page over the example vault, with projects of its own."""
    with tempfile.TemporaryDirectory() as home:
        for name in ("config", "data"):
            os.environ[f"DOWSE_{name.upper()}_DIR"] = f"{home}/{name}"
        if run(["index", str(HERE / "examples" / "vault"), "-p", "demo"]):
            sys.exit("The example vault could not be indexed.")
        listening = bind("127.0.0.1", 0)
        service = EnginePool(Workspace(), HERE / "examples" / "vault")
        server = Server(application(service, Access(), watch=False))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        server.should_exit = True
        thread.join(timeout=10)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "docs" / "images")
