"""What is asked: the query, and the options that every command which searches takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

import click

from dowse.errors import UsageError
from dowse.front.cli.complete import search_changes
from dowse.presets import PRESETS
from dowse.retrieve import Filters, Mode, modes_explained
from dowse.settings import SHORT_NAMES, assigned

_REPEATABLE = ("category", "author", "tag", "path", "source", "language")


@dataclass(frozen=True, slots=True)
class Asking:
    """What the line says, one field per option; None means that it says nothing."""

    query: tuple[str, ...]  # its words
    top_n: int | None
    mode: str | None
    category: tuple[str, ...]
    author: tuple[str, ...]
    tag: tuple[str, ...]
    path: tuple[str, ...]
    source: tuple[str, ...]
    language: tuple[str, ...]
    after: str | None
    before: str | None
    min_confidence: float | None
    parents: bool | None
    mmr: bool | None
    per_doc: int | None
    rerank: bool | None
    preset: str | None
    assignments: tuple[str, ...]  # `section.option=value`, as typed

    @property
    def text(self) -> str:
        """The query as one text; raises `UsageError` when it is empty."""
        text = " ".join(self.query).strip()
        if not text:
            raise UsageError("The query is empty.", "Say what to look for: dowse search WORDS")
        # Bytes that are no UTF-8 reach a program as characters that no text may hold.
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")

    @property
    def filters(self) -> Filters:
        """What must hold of every result."""
        for name in _REPEATABLE:
            if not all(value.strip() for value in getattr(self, name)):
                raise UsageError(f"--{name} names nothing.", "Leave it out, or give it a value.")
        return Filters(
            category=self.category,
            author=self.author,
            tag=self.tag,
            path=self.path,
            source=self.source,
            language=self.language,
            after=self.after or "",
            before=self.before or "",
        )

    @property
    def changes(self) -> Mapping[str, Any]:
        """The settings that hold for this search alone, by their full names."""
        given = {
            full: getattr(self, name) for name, full in SHORT_NAMES.items() if hasattr(self, name)
        }
        chosen = {full: value for full, value in given.items() if value is not None}
        if self.mmr and self.per_doc:
            raise UsageError(
                "--mmr and --per-doc are two ways of choosing results that differ.", "Use one."
            )
        if self.per_doc:
            chosen["diversity.mmr"] = False  # it would take the place of the limit
        return chosen | dict(assigned(text) for text in self.assignments)


_PARAMETERS = (
    click.argument("query", nargs=-1, required=True, metavar="QUERY..."),
    click.option(
        "-n", "--top-n", type=click.IntRange(min=1), metavar="N", help="How many results."
    ),
    click.option(
        "--mode",
        type=click.Choice(get_args(Mode)),
        help=f"Which strategies rank. {modes_explained()}",
    ),
    click.option(
        "--category", multiple=True, metavar="NAME", help="Only this category; several: any."
    ),
    click.option(
        "--author",
        multiple=True,
        metavar="NAME",
        help="Only by this author, or a part of the name; several: any.",
    ),
    click.option(
        "--tag",
        multiple=True,
        metavar="TAG",
        help="Only with this tag, or one below it; several: all.",
    ),
    click.option(
        "--path",
        multiple=True,
        metavar="PREFIX",
        help="Only documents whose path begins so; several: any.",
    ),
    click.option(
        "--source",
        multiple=True,
        metavar="ENDING",
        help="Only files with this ending, as md or pdf; several: any.",
    ),
    click.option(
        "--lang",
        "--language",
        "language",
        multiple=True,
        metavar="NAME",
        help="Only passages with code in this language; several: any.",
    ),
    click.option(
        "--after", metavar="DATE", help="Only changed then or later: 2024, 2024-06, 2024-06-30."
    ),
    click.option("--before", metavar="DATE", help="Only changed before."),
    click.option(
        "--min-confidence",
        type=click.FloatRange(0, 1),
        metavar="SCORE",
        help="Drop results below, from 0 to 1; 0.3 is strict.",
    ),
    click.option(
        "--parents/--no-parents", default=None, help="Return whole sections, or passages."
    ),
    click.option(
        "--mmr/--no-mmr", default=None, help="Choose results that differ from each other."
    ),
    click.option(
        "--per-doc",
        type=click.IntRange(min=0),
        metavar="N",
        help="Results of one document at most; 0 is no limit.",
    ),
    click.option(
        "--rerank/--no-rerank",
        default=None,
        help="Read the first results once more, together with the query.",
    ),
    click.option("--preset", type=click.Choice(tuple(PRESETS)), help="A named set of settings."),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        shell_complete=search_changes,
        help="Any setting of a search, for this once: search.top_k=30.",
    ),
)


def takes_query(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the query and all options of a search, gathered as `asking`."""
    names = [one.name for one in fields(Asking)]

    @functools.wraps(function)
    def gathered(*arguments: Any, **given: Any) -> Any:
        asking = Asking(**{name: given.pop(name) for name in names})
        return function(*arguments, asking=asking, **given)

    command: Callable[..., Any] = gathered
    for parameter in reversed(_PARAMETERS):
        command = parameter(command)
    return command
