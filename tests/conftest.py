"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vaults import close_engines


@pytest.fixture(autouse=True)
def _engines_are_closed() -> Iterator[None]:
    yield
    close_engines()
