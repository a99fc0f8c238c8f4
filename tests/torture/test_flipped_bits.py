"""Bits of the database are flipped: doctor finds each and repairs it, or it does not matter."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from front.conftest import by_meaning, dowse, given, home, notes, prepared
from front.test_advice import Patient, patient, projects_only

__all__ = [  # fixtures
    "by_meaning",
    "dowse",
    "given",
    "home",
    "notes",
    "patient",
    "prepared",
    "projects_only",
]


@pytest.mark.takes(20)
def test_what_doctor_calls_sound_gives_the_right_answers(
    patient: Patient, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    """Bits of the database are flipped: each is found, or does not matter."""
    chance, tries = random.Random(10), rounds(8, 100)
    wrong: list[object] = []
    found = 0
    for _ in range(tries):
        patient.recover()
        file = patient.folder / "index/index.db"
        content = bytearray(file.read_bytes())
        bit = chance.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        followed, left = patient.treat()
        found += bool(followed)
        if left:
            wrong.append((bit, followed, left))
    tally("bits flipped in the database", tries)
    tally("of which doctor found, and its advice repaired", found)
    assert wrong == []
