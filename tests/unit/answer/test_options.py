from __future__ import annotations

from typing import Any

import pytest

from dowse._search.answer import AnswerOptions
from dowse.errors import BadSettings


@pytest.mark.parametrize(
    "options",
    [
        {"sentences": 0},
        {"max_chars": 10},
        {"candidates": -1},
        {"timeout": 0.0},
        {"context_chars": 1},
        {"endpoint_url": "ftp://x", "endpoint_model": "m"},
        {"endpoint_url": "http://x"},
        {"api_key_env": "sk-not-a-name"},
    ],
)
def test_what_cannot_work_is_refused_at_the_door(options: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match="answer\\.") as failure:
        AnswerOptions(**options)
    assert "sk-not-a-name" not in str(failure.value)


def test_a_model_can_be_named_before_its_address() -> None:
    assert AnswerOptions(endpoint_model="m").endpoint_url == ""
