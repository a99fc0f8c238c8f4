"""How a query is to be answered: the options of every stage and strategy, from their tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, defstruct, field

from dowse._search.search_flow import SEARCH_FLOW
from dowse._search.stage import SearchStage
from dowse._search.stages.strategies import STRATEGIES, Strategy
from dowse._search.state import SearchOptions

Options = TypeVar("Options")


class Sections:
    """Options by their section, which is a field, or by their class."""

    __slots__ = ()

    def of(self, kind: type[Options]) -> Options:
        """The options of one class."""
        options: Options = getattr(self, _SECTION_OF[kind])
        return options

    def value(self, setting: str) -> Any:
        """The value of a setting by its full name: `gather.share`."""
        section, _, option = setting.partition(".")
        return getattr(getattr(self, section), option)


def _sections() -> Iterator[tuple[str, type[Any]]]:
    yield "search", SearchOptions
    rows: tuple[Strategy | SearchStage, ...] = (*STRATEGIES, *SEARCH_FLOW)
    for row in rows:
        if row.options is not None:
            yield row.name, row.options


# The weights of fusion are added in a subclass of its options.
_SECTION_OF = {kind: name for name, options in _sections() for kind in options.__mro__}

if TYPE_CHECKING:

    class Recipe(Sections, Struct, frozen=True):
        """The options of a search; one section for each stage or strategy that has options."""

        def __init__(self, **sections: Any) -> None: ...
        def __getattr__(self, section: str) -> Any: ...

else:
    Recipe = defstruct(
        "Recipe",
        [(name, kind, field(default_factory=kind)) for name, kind in _sections()],
        bases=(Sections, Struct),
        frozen=True,
        module=__name__,
        namespace={"__doc__": "The options of a search, by section."},
    )
