"""Secrets in addresses are hidden wherever something is shown."""

from __future__ import annotations

import pytest

from dowse._util.messages import hide_in_value, hide_secrets
from dowse.errors import DowseError

SHOWN = {
    "https://host/v1": "https://host/v1",
    "http://localhost:11434/v1": "http://localhost:11434/v1",
    "https://user:pass@host/v1": "https://***@host/v1",
    "https://user@host/v1": "https://***@host/v1",
    "https://us%20er:p@ss@host/v1": "https://***@host/v1",
    "https://user:pa/ss@host/v1": "https://***@host/v1",
    "https://user:pa?ss@host/v1": "https://***@host/v1",
    "https://host/v1?key=abc": "https://host/v1?key=***",
    "https://host/v1?key=abc&api-version=2": "https://host/v1?key=***&api-version=***",
    "https://host/v1?abc": "https://host/v1?***",
    "https://u:p@host?key=x@y": "https://***@y",
    "set x = 'https://u:p@host' now": "set x = 'https://***@host' now",
    "see https://a:b@c/ and http://d:e@f/": "see https://***@c/ and http://***@f/",
    "mail me@example.org": "mail me@example.org",
    "a :// b@c": "a :// b@c",
    "": "",
}


@pytest.mark.parametrize("text", SHOWN)
def test_addresses_lose_their_secrets(text: str) -> None:
    assert hide_secrets(text) == SHOWN[text]
    assert hide_secrets(SHOWN[text]) == SHOWN[text]


def test_values_of_settings_keep_their_type() -> None:
    assert hide_in_value(("https://u:p@h", "x")) == ("https://***@h", "x")
    assert [hide_in_value(one) for one in (3, True, None, 1.5)] == [3, True, None, 1.5]


def test_long_texts_are_no_burden() -> None:
    counts = []
    for length in (10_000, 100_000):
        text = "a" * length + "://" + "@" * length + "?" * length
        counts.append(len(hide_secrets(text)))
    assert counts[1] <= 11 * counts[0]


def test_no_error_shows_them() -> None:
    error = DowseError("https://u:p@host failed.", "Check https://host?key=k")
    assert str(error) == "https://***@host failed. Check https://host?key=***"
    assert error.args == ("https://***@host failed.",)
