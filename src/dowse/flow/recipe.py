"""How a query is to be answered: the options of every stage and strategy, from their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, field, fields, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dowse.flow.search_flow import SEARCH_FLOW
from dowse.retrieve.strategies import STRATEGIES
from dowse.search_state import SearchOptions

Options = TypeVar("Options")


class Sections:
    """Options by their section, which is a field, or by their class."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def of(self, kind: type[Options]) -> Options:
        """The options of one class."""
        options: Options = getattr(self, _section_of(type(self), kind))
        return options

    def value(self, setting: str) -> Any:
        """The value of a setting by its full name: `gather.share`."""
        section, _, option = setting.partition(".")
        return getattr(getattr(self, section), option)


@cache
def _section_of(recipe: type[Any], kind: type[Any]) -> str:
    """The section whose options are of a class; the weights of fusion are added in a subclass."""
    return next(one.name for one in fields(recipe) if issubclass(_class_of(one), kind))


def _class_of(section: Field[Any]) -> type[Any]:
    kind: type[Any] = section.default_factory  # type: ignore[assignment]  # every section has one
    return kind


def _sections() -> Iterator[tuple[str, type[Any]]]:
    yield "search", SearchOptions
    for name, options in [(row.name, row.options) for row in (*STRATEGIES, *SEARCH_FLOW)]:
        if options is not None:
            yield name, options


if TYPE_CHECKING:

    class Recipe(Sections):
        """The options of a search; one section for each stage or strategy that has options."""

        def __init__(self, **sections: Any) -> None: ...
        def __getattr__(self, section: str) -> Any: ...

else:
    Recipe = make_dataclass(
        "Recipe",
        [(name, kind, field(default_factory=kind)) for name, kind in _sections()],
        bases=(Sections,),
        frozen=True,
        slots=True,
        namespace={"__module__": __name__, "__doc__": "The options of a search, by section."},
    )
