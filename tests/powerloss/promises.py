"""What a program has told its user, and whether a disk keeps it.

A program says `begin NAME VALUE` before it changes something and `done NAME VALUE` once the user
may rely on it. After a cut, NAME has the last value that was done, or one that was begun since.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

ABSENT = "-"


def begin(name: str, value: str) -> None:
    """Says that something is about to change."""
    _say(f"begin {name} {value}")


def done(name: str, value: str) -> None:
    """Says that something has changed for good."""
    _say(f"done {name} {value}")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # in one call, so that a cut cannot fall into it


def allowed(said: Iterable[str]) -> dict[str, list[str]]:
    """By name, the values that it may have; the first is the one that was done last."""
    values: dict[str, list[str]] = {}
    for line in said:
        word, name, value = line.split(" ", 2)
        known = values.setdefault(name, [ABSENT])
        if word == "begin":
            known.append(value)
        else:
            values[name] = [value]
    return values


def assert_kept(said: Iterable[str], found: Mapping[str, str]) -> None:
    """Every value that is found is allowed."""
    for name, values in allowed(said).items():
        assert found.get(name, ABSENT) in values, f"{name}: {found.get(name, ABSENT)} of {values}"
