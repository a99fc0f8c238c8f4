"""What is said when an engine fails, by what its client raises."""

from __future__ import annotations

import pytest

from dowse._store.remote.failures import engine_errors, translated
from dowse.errors import EngineFailed


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("Fail connecting to server on 127.0.0.1:45401, illegal connection params", "reached"),
        ("<_MultiThreadedRendezvous: StatusCode.UNAVAILABLE, failed to connect>", "reached"),
        ("StatusCode.DEADLINE_EXCEEDED, Deadline Exceeded", "in time"),
        ("Unexpected Response: 401 (Unauthorized)", "refused the key"),
        ("StatusCode.UNAUTHENTICATED auth check failure", "refused the key"),
        ("Unexpected Response: 403 Forbidden", "refused the key"),
        ("deny to write, reason: memory limit", "takes no writes"),
        ("quota exceeded[reason=disk quota exceeded]", "no room"),
        ("No space left on device", "no room"),
        ("StatusCode.UNIMPLEMENTED", "does not know"),
        ("something odd\nwith a second line", "something odd"),
    ],
)
def test_every_failure_ends_with_what_to_do(raised: str, said: str) -> None:
    error = translated("milvus://host:19530", "search", RuntimeError(raised))
    assert said in error.message
    assert error.message.startswith("The engine at milvus://host:19530 could not search")
    assert error.hint
    assert "second line" not in str(error)


def test_errors_of_dowse_itself_stay_as_they_are() -> None:
    with pytest.raises(EngineFailed, match="my own"), engine_errors("x", "search"):
        raise EngineFailed("my own", "hint")
