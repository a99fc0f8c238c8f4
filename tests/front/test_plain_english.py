"""What users read avoids words that readers of English as a second language stumble over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dowse._config.schema import known_settings
from dowse._interfaces.mcp.tools import TOOLS
from http_reference import description
from rows import check_rows

_ROOT = Path(__file__).parents[2]
_PAGES = [
    *(_ROOT / "docs").rglob("*.md"),
    *(_ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")),
]
_MODULES = sorted((_ROOT / "src" / "dowse").rglob("*.py"))
# CONTRIBUTING.md says what to write instead.
_AVOIDED = re.compile(
    r"\b(anew|mends?|mended|whoever|beside|lies|lets go|would else|from which on|level with"
    r"|brought level|(brings?|keeps?|kept) (it|them|the index|its index|an index) level)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def _avoided(text: str) -> list[str]:
    return [match[0] for match in _AVOIDED.finditer(_CODE.sub("", text))]


def test_pages() -> None:
    def check(page: Path) -> None:
        assert _avoided(page.read_text("utf-8")) == []

    check_rows(_PAGES, check)


def test_settings() -> None:
    found = {name: _avoided(one.meaning) for name, one in known_settings().items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_http_and_mcp() -> None:
    assert _avoided(msgspec.json.encode(description()).decode()) == []
    assert _avoided(repr(TOOLS)) == []


def test_messages_and_help() -> None:
    def check(module: Path) -> None:
        texts = list(_texts(ast.parse(module.read_text("utf-8"))))
        assert [(text, words) for text in texts if (words := _avoided(text))] == []

    check_rows(_MODULES, check)


def _texts(tree: ast.AST) -> Iterator[str]:
    """Every text of a module: messages, help, docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
