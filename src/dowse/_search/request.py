"""A search as a caller asks for it: made once at an interface, and passed whole to the pipeline."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from dowse._model import Condition, ConditionKind
from dowse._search.query.interpret import where_condition
from dowse._text.dates import EXAMPLES, moment_of
from dowse.errors import UsageError

# ── What a caller can demand of every result in addition to the query ─────


class Filters(Struct, frozen=True):
    """What must hold of every result; what is empty demands nothing."""

    category: tuple[str, ...] = ()  # one of these
    author: tuple[str, ...] = ()  # one of these is part of an author's name
    tag: tuple[str, ...] = ()  # all of these, or tags below them
    path: tuple[str, ...] = ()  # the document's id begins with one of these
    source: tuple[str, ...] = ()  # one of these endings of the file's name: md, pdf
    language: tuple[str, ...] = ()  # the chunk holds code in one of these
    after: str = ""  # a date: modified then or later
    before: str = ""  # a date: modified before it
    where: tuple[str, ...] = ()  # all of these hold of the frontmatter: status=draft, rating>3

    def conditions(self, now: float | None = None) -> tuple[Condition, ...]:
        """Return the same as conditions of a store; dates such as `7d` are counted from `now`.

        Raise `UsageError` for what is no date, for dates between which nothing can be, and for a
        `where` that names no field.
        """
        now = time.time() if now is None else now
        any_of: tuple[tuple[str, ConditionKind, tuple[str, ...]], ...] = (
            ("category", "category", self.category),
            ("author", "author", self.author),
            ("path", "under", tuple(one.removeprefix("./") for one in self.path)),
            ("source", "source", tuple(one.removeprefix(".") for one in self.source)),
            ("language", "language", self.language),
            *(("tag", "tag", (tag.removeprefix("#"),)) for tag in self.tag),
        )
        found = [
            Condition(kind, values, written=" ".join(f"--{name} {value}" for value in values))
            for name, kind, values in any_of
            if values
        ]
        found += [where_condition(text, now) for text in self.where]
        after = moment_said(self.after, now) if self.after else None
        before = moment_said(self.before, now) if self.before else None
        if after is not None and before is not None and after >= before:
            raise UsageError(
                f"Nothing was changed after {self.after} and before {self.before}.",
                "Swap the dates, or leave one out.",
            )
        if after is not None:
            found.append(Condition("after", bound=after, written=f"--after {self.after}"))
        if before is not None:
            found.append(Condition("before", bound=before, written=f"--before {self.before}"))
        return tuple(found)


def moment_said(text: str, now: float) -> float:
    """Read the first moment of a date such as 2024-06 or 7d; raise `UsageError` when it is none."""
    moment = moment_of(text, now)
    if moment is None:
        raise UsageError(f"{text!r} is not a date.", f"Write it as {EXAMPLES}.")
    return moment


NO_FILTERS = Filters()
"""Filters that let everything pass."""


class SearchRequest(Struct, frozen=True):
    """What is searched for, and how. Interfaces build it with `dowse._config.request`."""

    query: str
    filters: Filters = NO_FILTERS  # what must hold of every result
    changes: Mapping[str, Any] = field(default_factory=dict)  # settings for this call, by full name
    max_tokens: int | None = None  # of the texts that are returned; None: the interface's own limit
    offset: int = 0  # how many of the first results are skipped
