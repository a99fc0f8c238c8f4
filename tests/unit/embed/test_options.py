from __future__ import annotations

from typing import Any

import pytest

from dowse._embed.options import EmbedOptions
from dowse.errors import BadSettings


@pytest.mark.parametrize(
    "options",
    [
        {"threads": -1},
        {"batch_size": 0},
        {"endpoint_batch_size": 0},
        {"endpoint_parallel": 0},
        {"endpoint_timeout": 0},
        {"endpoint_retries": -1},
        {"endpoint_dimensions": -1},
        {"provider": "endpoint", "endpoint_model": "m"},
        {"provider": "endpoint", "endpoint_url": "ftp://x", "endpoint_model": "m"},
        {"provider": "endpoint", "endpoint_url": "http://x"},
        {
            "provider": "endpoint",
            "endpoint_url": "http://x",
            "endpoint_model": "m",
            "endpoint_shorten": True,
        },
        {
            "provider": "endpoint",
            "endpoint_url": "http://x",
            "endpoint_model": "m",
            "api_key_env": "sk-not-a-name",
        },
    ],
)
def test_what_cannot_work_is_refused_at_the_door(options: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match="embed\\."):
        EmbedOptions(**options)


def test_a_key_in_the_wrong_place_is_not_repeated() -> None:
    with pytest.raises(BadSettings) as failure:
        EmbedOptions(
            provider="endpoint",
            endpoint_url="http://x",
            endpoint_model="m",
            api_key_env="sk-secret-1",
        )
    assert "sk-secret-1" not in str(failure.value)
