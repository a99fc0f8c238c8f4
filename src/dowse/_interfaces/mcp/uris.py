"""Documents as resources: `dowse://project/path`."""

from __future__ import annotations

from urllib.parse import quote, unquote

from dowse.errors import UsageError

SCHEME = "dowse://"
"""How every address begins."""

TEMPLATE = "dowse://{project}/{+path}"
"""The form of all addresses."""


def uri_of(project: str, document: str) -> str:
    """The address of a document."""
    path = document.encode("utf-8", "surrogatepass")
    return f"{SCHEME}{quote(project, safe='')}/{quote(path, safe='/')}"


def parse_uri(uri: str) -> tuple[str, str]:
    """The project and the document of an address."""
    project, slash, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not slash or not project or not path:
        raise UsageError(f"{uri!r} is not an address of dowse.", f"Write it as {TEMPLATE}.")
    return unquote(project), unquote(path, errors="surrogatepass")
