"""The glossary defines every record once."""

from __future__ import annotations

import re
from pathlib import Path

from dowse import _model as types

_GLOSSARY = (Path(__file__).parents[2] / "docs/glossary.md").read_text("utf-8")
_ROWS = re.findall(r"(?m)^\| (.+?) \| (.+) \|$", _GLOSSARY)
_TERMS = [term.strip(" `") for row, _ in _ROWS for term in row.split(",")]


def test_every_record_of_types_is_defined() -> None:
    records = {name for name in types.__all__ if name[0].isupper()}
    assert records - set(_TERMS) == set()


def test_no_term_is_defined_twice() -> None:
    terms = [term for term in _TERMS if term not in {"term", "---"}]
    assert sorted(terms) == sorted(set(terms))


def test_every_name_in_code_is_a_record() -> None:
    named = {name for row, _ in _ROWS for name in re.findall(r"`(\w+)`", row)}
    assert named - set(types.__all__) == set()


def test_every_meaning_is_a_sentence() -> None:
    meanings = [meaning for row, meaning in _ROWS if meaning not in {"meaning", "---"}]
    assert [one for one in meanings if not one.endswith(".")] == []
