"""What a caller can demand of every result in addition to the query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dowse.errors import UsageError
from dowse.text.dates import first_moment
from dowse.types import Condition, ConditionKind


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

        Raises `UsageError` for what is no date, and for dates between which nothing can be.
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
        for name, kind, values in any_of:
            if values:
                written = " ".join(f"--{name} {value}" for value in values)
                yield Condition(kind, values, written=written)
        if self.after and self.before and _time(self.after) >= _time(self.before):
            raise UsageError(
                f"Nothing was changed after {self.after} and before {self.before}.",
                "Swap the dates, or leave one out.",
            )
        if self.after:
            yield Condition("after", bound=_time(self.after), written=f"--after {self.after}")
        if self.before:
            yield Condition("before", bound=_time(self.before), written=f"--before {self.before}")


def _time(text: str) -> float:
    moment = first_moment(text)
    if moment is None:
        raise UsageError(f"{text!r} is not a date.", "Write it as 2024, 2024-06 or 2024-06-30.")
    return moment
