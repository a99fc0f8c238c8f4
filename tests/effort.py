"""How often properties are tried: some examples in `make test`, many in `make torture`."""

from __future__ import annotations

from hypothesis import settings

TORTURE = "torture"
"""The profile of Hypothesis that is loaded at full length."""


def examples(short: int, long: int) -> settings:
    """The settings of a property; the same examples come every time."""
    full = settings.get_current_profile_name() == TORTURE
    return settings(deadline=None, derandomize=True, max_examples=long if full else short)
