"""What a caller can demand of every result in addition to the query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dowse.errors import UsageError
from dowse.text.dates import first_moment
from dowse.types import Condition, ConditionKind

MOST_VALUES = 100
"""The most values of one filter; more belong into a folder, a tag or a project of their own."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What must hold of every result; what is empty demands nothing."""

    category: tuple[str, ...] = ()  # one of these
    author: tuple[str, ...] = ()  # one of these is part of an author's name
    tag: tuple[str, ...] = ()  # all of these, or tags below them
    path: tuple[str, ...] = ()  # the document's id begins with one of these
    source: tuple[str, ...] = ()  # one of these endings of the file's name: md, pdf
    language: tuple[str, ...] = ()  # the chunk holds code in one of these
    after: str = ""  # a date: modified then or later
    before: str = ""  # a date: modified before it

    def conditions(self) -> tuple[Condition, ...]:
        """The same, as every store understands it.

        Raises `UsageError` for what is no date, and for more values than `MOST_VALUES`.
        """
        return tuple(self._conditions())

    def _conditions(self) -> Iterator[Condition]:
        any_of: tuple[tuple[str, ConditionKind, tuple[str, ...]], ...] = (
            ("category", "category", self.category),
            ("author", "author", self.author),
            ("path", "under", tuple(one.removeprefix("./") for one in self.path)),
            ("source", "source", tuple(one.removeprefix(".") for one in self.source)),
            ("language", "language", self.language),
            *(("tag", "tag", (tag.removeprefix("#"),)) for tag in self.tag),
        )
        _check_count("tag", self.tag)
        for name, kind, values in any_of:
            _check_count(name, values)
            if values:
                written = " ".join(f"--{name} {value}" for value in values)
                yield Condition(kind, values, written=written)
        if self.after:
            yield Condition("after", bound=_time(self.after), written=f"--after {self.after}")
        if self.before:
            yield Condition("before", bound=_time(self.before), written=f"--before {self.before}")


def _check_count(name: str, values: tuple[str, ...]) -> None:
    if len(values) > MOST_VALUES:
        raise UsageError(
            f"The filter {name} has {len(values):,} values.",
            f"Give it {MOST_VALUES} at most, or search without it.",
        )


def _time(text: str) -> float:
    moment = first_moment(text)
    if moment is None:
        raise UsageError(f"{text!r} is not a date.", "Write it as 2024, 2024-06 or 2024-06-30.")
    return moment
