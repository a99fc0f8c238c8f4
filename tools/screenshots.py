"""Takes the pictures of the docs: of the page over the example vault, and of a terminal.

    python tools/screenshots.py [FOLDER [NAME…]]

Both are real: the page is served, and the command of the terminal is run. Chromium photographs
them. With names, only these pictures are taken.
"""

from __future__ import annotations

import io
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

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


TERMINAL = ("search", "how do I restore a backup", "--top-n", "3")
"""The command in the picture of a terminal."""

_TERMINAL_PAGE = """<style>a {{ color: inherit; }}</style><body style="margin:0">
<div id="terminal" style="display:inline-block;
background:#16181d;color:#d8dee9;padding:18px 22px;border-radius:8px">{output}</div></body>"""


def main(folder: Path, names: Collection[str] = ()) -> None:
    """Takes pictures into a folder, all of them without names."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only developers have it

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is not installed. Install it with: apt-get install chromium")
    shots = [one for one in SHOTS if not names or one.name in names]
    if shots:
        _check_fonts()
    folder.mkdir(parents=True, exist_ok=True)
    with _serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in shots:
            _take(browser, address, shot, folder / f"{shot.name}.png")
            print(folder / f"{shot.name}.png")
        if not names or "terminal" in names:
            _take_terminal(browser, folder / "terminal.png")
            print(folder / "terminal.png")
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


def _take_terminal(browser: Browser, file: Path) -> None:
    """Runs a command in a terminal of 80 columns, and takes a picture of what it says."""
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.assemble(("$ ", "dim"), ("dowse " + shlex.join(TERMINAL), "bold")))
    console.print(Text.from_ansi(_output_of(TERMINAL)))
    style = "font:14px/1.35 'DejaVu Sans Mono',monospace;margin:0"
    output = console.export_html(
        theme=DIMMED_MONOKAI, inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>'
    )
    page = browser.new_context(device_scale_factor=2).new_page()
    page.set_content(_TERMINAL_PAGE.format(output=output))
    page.locator("#terminal").screenshot(path=file, omit_background=True)
    page.context.close()


def _output_of(command: tuple[str, ...]) -> str:
    """Returns what a command writes to a terminal, with its colours."""
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm-256color", "DOWSE_NO_SERVER": "1"}
    line = [sys.executable, "-m", "dowse", "-p", "demo", *command]
    process = subprocess.Popen(  # noqa: S603  the same words every time
        line, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(follower)
    written = b""
    with suppress(OSError):  # Linux says so at the end of a terminal
        while part := os.read(leader, 65536):
            written += part
    os.close(leader)
    if process.wait():
        sys.exit(f"dowse {shlex.join(command)} failed.")
    return written.decode().replace("\r\n", "\n")


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
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "docs" / "images", sys.argv[2:])
