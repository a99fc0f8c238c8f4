"""The declarations of settings: their limits, and when a dowse.toml needs consent for them.

    threads: Annotated[int, "What it means.", Meta(ge=0, le=1024), ALWAYS] = 0

Every number has an upper limit, every text and every list a longest length, so that no settings
file can ask for all memory. A test fails when a setting has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

from dowse.errors import BadSettings

SHARE = Meta(ge=0, le=1)
"""The limits of a part of a whole."""

NAME = Meta(max_length=500)
"""The limit of a name, a path or an address."""

ENTRIES = Meta(max_length=1000)
"""The limit of a list."""

Entry = Annotated[str, Meta(max_length=1000)]
"""A text in a list."""


class Consent(Struct, frozen=True):
    """When a dowse.toml may set something only with the user's consent."""

    needed: Callable[[Any, Any], bool]  # of its value, and of what holds without the file
    when: str  # for people


ALWAYS = Consent(lambda *_: True, "always")
WHEN_TRUE = Consent(lambda value, present: value and not present, "when it is turned on")
WHEN_FALSE = Consent(lambda value, present: present and not value, "when it is turned off")
WHEN_HIGHER = Consent(lambda value, present: value > present, "when it is raised")
WHEN_MORE = Consent(lambda value, present: not set(value) <= set(present), "when entries are added")
WHEN_LESS = Consent(lambda value, present: not set(value) >= set(present), "when entries are lost")
FOR_FILES = Consent(
    lambda *_: False, "for files that your own settings leave out; those stay out until then"
)


@cache
def declared(options: type) -> dict[str, Any]:
    """Return the type of every option of a class, with all that is declared about it."""
    return {
        name: hint
        for name, hint in get_type_hints(options, include_extras=True).items()
        if hasattr(hint, "__metadata__")
    }


def meaning(hint: Any) -> str:
    """Return what an option means, as its declaration says."""
    return next((one for one in hint.__metadata__ if isinstance(one, str)), "")


def consent(hint: Any) -> Consent | None:
    """Return when an option needs consent; None: never."""
    return next((one for one in hint.__metadata__ if isinstance(one, Consent)), None)


def limits(hint: Any) -> Meta | None:
    """Return the limits of an option itself, not those of a list's entries."""
    return next((one for one in hint.__metadata__ if isinstance(one, Meta)), None)


def complaint(hint: Any, value: object) -> str:
    """Say why a value of the right type is outside its limits; empty when it is not."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        found = limits(hint)
        if found is None or found.le is None:
            return f"does not fit: {error}"
        if found.gt is not None:
            return f"must be above {found.gt:,} and at most {found.le:,}"
        return f"must be between {found.ge:,} and {found.le:,}"
    return ""


class Options(Struct, frozen=True):
    """A section of the settings: `NearDedupOptions` is that of `near_dedup`."""

    def __post_init__(self) -> None:
        """Raise `BadSettings` when an option is outside the limits that it declares.

        Defaults are within them, and most options have theirs: to evaluate the declarations of all
        classes takes longer than to search.
        """
        defaults = zip(self.__struct_fields__, self.__struct_defaults__, strict=True)
        chosen = [name for name, default in defaults if getattr(self, name) is not default]
        hints = declared(type(self)) if chosen else {}
        for name in [one for one in chosen if one in hints]:
            if problem := complaint(hints[name], getattr(self, name)):
                section = re.sub(r"\B([A-Z])", r"_\1", type(self).__name__.removesuffix("Options"))
                raise BadSettings(f"{section.lower()}.{name} {problem}.", meaning(hints[name]))


def check_key_variable(setting: str, name: str) -> None:
    """Raise `BadSettings` when a name cannot be that of the variable that holds a key."""
    if name and not name.isidentifier():
        raise BadSettings(
            f"{setting} must be the name of an environment variable.",
            "Put the key into that variable, not into the settings.",
        )


def check_web_address(setting: str, address: str) -> None:
    """Raise `BadSettings` when an address is not one of the web."""
    if not address.startswith(("http://", "https://")):
        raise BadSettings(
            f"{setting} must start with http:// or https://.",
            f"Set it with: dowse config set {setting} URL",
        )
