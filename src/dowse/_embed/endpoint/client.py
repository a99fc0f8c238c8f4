"""A question to an endpoint's `/embeddings`, and what of its answer counts as vectors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dowse._embed.options import EmbedOptions
from dowse._model import Matrix
from dowse._util.arrays import np
from dowse._util.endpoints import Endpoint, EndpointClient, Wait
from dowse._util.masking import encodable
from dowse.errors import EndpointFailed

if TYPE_CHECKING:
    from dowse._util.http import HttpReply

_PER_TEXT = 1_600_000  # bytes: the longest vectors that the settings allow, as JSON
_BESIDE = 1 << 20  # bytes around the vectors
_MOST = 192 << 20  # bytes of any answer


class EmbeddingClient:
    """Asks an endpoint for vectors; safe from several threads."""

    def __init__(self, options: EmbedOptions, wait: Wait) -> None:
        self._options = options
        self._client = EndpointClient(_endpoint(options), wait)

    def embed(self, texts: Sequence[str], *, waiting: bool) -> Matrix:
        """The endpoint's vectors for texts, one row each, as they came; a person may be waiting."""
        # Endpoints refuse empty texts, which are as good as a blank.
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            "input": [encodable(text) if text.strip() else " " for text in texts],
            "encoding_format": "float",
        }
        if self._options.endpoint_shorten:
            body["dimensions"] = self._options.endpoint_dimensions
        most = min(_BESIDE + _PER_TEXT * len(texts), _MOST)
        reply = self._client.reply(body, most=most, waiting=waiting)
        self._client.check(reply)
        return self._read(reply, len(texts))

    def failed(self, what: str, hint: str = "") -> EndpointFailed:
        """An error that names the endpoint and says what it did."""
        return self._client.failed(what, hint)

    def _read(self, reply: HttpReply, count: int) -> Matrix:
        try:
            rows = sorted(reply.json()["data"], key=_place)
            places = [_place(row) for row in rows]
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise self._client.useless(reply, "no embeddings") from error
        if places != list(range(count)):
            raise self.failed(f"gave {len(rows)} vectors for {count} texts")
        if len({vector.shape for vector in vectors}) != 1 or vectors[0].ndim != 1:
            raise self.failed("gave vectors of different lengths")
        return np.stack(vectors)


def _place(row: dict[str, Any]) -> int:
    """Which text a vector belongs to; some endpoints leave the index out where it is 0."""
    place = row.get("index")
    return 0 if place is None else operator.index(place)


def _endpoint(options: EmbedOptions) -> Endpoint:
    return Endpoint(
        url=options.endpoint_url,
        path="/embeddings",
        model=options.endpoint_model,
        settings="embed",
        api_key_env=options.api_key_env,
        timeout=options.endpoint_timeout,
        timeout_setting="endpoint_timeout",
        retries=options.endpoint_retries,
        otherwise="Or make vectors on this machine: dowse config set embed.provider local",
    )
