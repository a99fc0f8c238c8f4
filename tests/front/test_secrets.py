"""Secrets are left out at index time: no door shows them, and no model reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Dowse
from dowse.api import Dowse as Library

_TOKEN = "ghp_" + "a1B2" * 9
_KEY = "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END " + "PRIVATE KEY-----"
_NOTE = f"""---
title: Deploying
description: uses {_TOKEN}
tags: [deploy]
---
# Deploying

Use the token `{_TOKEN}` of the lighthouse.

{_KEY}

```bash
curl -H "Authorization: {_TOKEN}" example.org
```
"""


@pytest.fixture
def deploy(home: Path, by_meaning: None) -> Path:  # noqa: ARG001  vectors without weights
    (home / "deploy").mkdir()
    (home / "deploy" / "note.md").write_text(_NOTE, "utf-8")
    return home / "deploy"


def _holds_secret(folder: Path) -> list[str]:
    content = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [name for name, data in content.items() if b"a1B2a1B2" in data or b"MIIEvQ" in data]


def test_no_file_of_dowses_and_no_line_shows_a_secret(
    home: Path, deploy: Path, dowse: Dowse
) -> None:
    indexed = dowse("index", deploy)
    assert indexed.code == 0, indexed
    assert "4 secrets left out" in indexed.out
    assert "note.md: 4 secrets were left out (read.redact)." in indexed.out.replace("\n  ", " ")
    assert dowse("export", "-p", "deploy", home / "out.dowse").code == 0
    assert _holds_secret(home / "own") == []
    for line in (
        ["search", "token lighthouse", "--json"],
        ["search", "ghp_a1B2", "--json"],
        ["get", "note.md"],
        ["get", "note.md", "--lines"],
        ["get", "note.md", "--json"],
        ["answer", "which token does the lighthouse use", "--json"],
        ["explain", "token", "note.md", "--json"],
        ["ls", "--long", "--json"],
        ["graph", "--json"],
    ):
        seen = dowse(*line, "-p", "deploy")
        assert "a1B2a1B2" not in seen.out + seen.err, line
        assert "MIIEvQ" not in seen.out, line
    assert "[redacted]" in dowse("get", "note.md", "-p", "deploy").out


def test_the_count_is_in_the_report(home: Path, deploy: Path, dowse: Dowse) -> None:
    assert dowse("index", deploy, "--json").json["secrets"] == 4
    (deploy / "other.md").write_text("# Other\n\nNothing to hide.\n", "utf-8")
    assert dowse("index", deploy, "--json").json["secrets"] == 0
    with Library(deploy, home=home / "library") as library:
        assert library.index().secrets == 4


def test_status_says_how_many_secrets_the_index_is_without(deploy: Path, dowse: Dowse) -> None:
    def count() -> int:
        return int(dowse("status", "-p", "deploy", "--json").json["counts"]["secrets"])

    assert dowse("index", deploy).code == 0
    (deploy / "other.md").write_text(f"# Other\n\nAlso {_TOKEN}.\n", "utf-8")
    assert dowse("index", deploy).code == 0
    assert count() == 5
    assert "5 left out (read.redact)" in dowse("status", "-p", "deploy").out
    (deploy / "note.md").write_text("# Deploying\n\nWithout a token.\n", "utf-8")
    assert dowse("index", deploy).code == 0
    assert count() == 1
    (deploy / "other.md").unlink()
    assert dowse("index", deploy).code == 0
    assert count() == 0
    assert "read.redact" not in dowse("status", "-p", "deploy").out


def test_other_patterns_are_another_index(deploy: Path, dowse: Dowse) -> None:
    assert dowse("index", deploy).code == 0
    assert dowse("config", "set", "read.redact", '["known", "re:light[a-z]{5}"]').code == 0
    refused = dowse("search", "token", "-p", "deploy")
    assert "read.redact" in dowse("doctor").out.replace("\n", " ")
    assert "dowse index --rebuild" in (refused.err + refused.out).replace("\n", " ")
    assert dowse("index", deploy, "--rebuild").code == 0
    assert "lighthouse" not in dowse("get", "note.md", "-p", "deploy").out


def test_an_imported_file_is_read_with_the_users_own_patterns(
    home: Path, deploy: Path, dowse: Dowse
) -> None:
    assert dowse("config", "set", "read.redact", "").code == 0
    assert dowse("index", deploy).code == 0
    assert _TOKEN in dowse("get", "note.md", "-p", "deploy").out
    assert dowse("export", "-p", "deploy", home / "out.dowse").code == 0
    assert dowse("config", "unset", "read.redact").code == 0
    assert dowse("import", home / "out.dowse", "-p", "copy").code == 0
    assert "a1B2a1B2" not in dowse("get", "note.md", "-p", "copy").out
    assert "its index is whole" in dowse("doctor", "-p", "copy").out


def test_a_checked_in_file_cannot_let_secrets_in(deploy: Path, dowse: Dowse) -> None:
    (deploy / "dowse.toml").write_text("[read]\nredact = []\n", "utf-8")
    indexed = dowse("index", deploy)
    assert "set read.redact = []" in indexed.err.replace("\n", " ")
    assert "a1B2a1B2" not in dowse("get", "note.md", "-p", "deploy").out
