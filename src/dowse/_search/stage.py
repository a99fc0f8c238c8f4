"""What a row of the search flow says about its stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from dowse._search.state import SearchState


class SearchStage(Struct, frozen=True):
    """A stage of a search, with all that other parts of dowse know about it."""

    name: str
    words: str  # what it does, for people who do not know its name
    run: Callable[[SearchState], None]
    options: type[Any] | None = None  # its section of the settings, which has the stage's name
    off: Mapping[str, Any] = field(default_factory=dict)  # the options that turn it off
    on: Mapping[str, Any] = field(default_factory=dict)  # and on, for an ablation
    when: Callable[[SearchState], bool] | None = None  # what else must hold for it to run
    always: bool = False  # it also runs when it is off, and then does less
    ablated: bool = True  # an ablation measures what it is worth
    replayed: bool = False  # it orders what was retrieved: tuning runs it again with other options
    needs_vectors: bool = False
    multiplies: bool = False  # what it does to a score is best shown as a factor

    def __post_init__(self) -> None:
        """Options with `enabled` are a switch, unless the row names another one."""
        names = self.options.__struct_fields__ if self.options else ()
        if "enabled" in names and not self.off:
            force_setattr(self, "off", {"enabled": False})
            force_setattr(self, "on", {"enabled": True})

    def is_on(self, options: object) -> bool:
        """Whether its own options turn it on; a stage without a switch always is."""
        off = self.off.items()
        return not off or any(getattr(options, name) != value for name, value in off)

    def is_wanted(self, search: SearchState) -> bool:
        """Whether it runs in a search."""
        if self.when is not None and not self.when(search):
            return False
        return self.always or self.options is None or self.is_on(search.of(self.options))
