"""A request to an OpenAI-compatible `/embeddings`: patient with it, strict about its answer."""

from __future__ import annotations

import datetime as dt
import email.utils
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dowse.embed.characters import encodable
from dowse.embed.options import EmbedOptions
from dowse.errors import EndpointFailed
from dowse.types import Matrix

if TYPE_CHECKING:
    import httpx2

_FIRST_PAUSE = 0.5  # seconds; each further pause is twice as long
_LONGEST_PAUSE = 60.0
_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SHOWN = 200  # characters of an answer that an error repeats

Wait = Callable[[float], None]
"""Waits some seconds; tests put another in its place."""


class EndpointClient:
    """Asks an endpoint for vectors; may be used by several threads at once."""

    def __init__(self, options: EmbedOptions, wait: Wait = time.sleep) -> None:
        self._options = options
        self._wait = wait
        self._opening = threading.Lock()
        self._client: httpx2.Client | None = None

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The endpoint's vectors for texts, one row each, as they came."""
        # Endpoints refuse empty texts, which are as good as a blank.
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            "input": [encodable(text) if text.strip() else " " for text in texts],
            "encoding_format": "float",
        }
        if self._options.endpoint_shorten:
            body["dimensions"] = self._options.endpoint_dimensions
        return self._read(self._post(body), len(texts))

    def failed(self, what: str, hint: str = "") -> EndpointFailed:
        """An error that names the endpoint and says what it did."""
        return EndpointFailed(f"The endpoint {self._options.endpoint_url} {what}.", hint)

    def _post(self, body: dict[str, Any]) -> httpx2.Response:
        import httpx2  # noqa: PLC0415  (only an endpoint needs the network)

        url = f"{self._options.endpoint_url.rstrip('/')}/embeddings"
        for attempt in range(self._options.endpoint_retries + 1):
            last = attempt == self._options.endpoint_retries
            try:
                answer = self._open().post(url, json=body, headers=self._headers())
            except httpx2.InvalidURL as error:
                raise self.failed(f"has no usable address: {error}") from error
            except httpx2.TransportError as error:
                if last:
                    raise self.failed(_describe(error)) from error
                self._wait(_pause(attempt))
                continue
            if answer.status_code not in _WORTH_RETRYING or last:
                self._check_status(answer)
                return answer
            self._wait(_requested_pause(answer) or _pause(attempt))
        raise self.failed("was never asked")

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415  (as above)

        with self._opening:
            if self._client is None:
                self._client = httpx2.Client(timeout=self._options.endpoint_timeout)
                weakref.finalize(self, self._client.close)
            return self._client

    def _headers(self) -> dict[str, str]:
        variable = self._options.api_key_env
        if not variable:
            return {}
        key = os.environ.get(variable, "").strip()
        if not key:
            raise self.failed(
                f"needs a key, but {variable} is not set", f"Put the key into {variable}."
            )
        if not key.isascii() or not key.isprintable():
            raise self.failed(f"needs a key, but what {variable} holds cannot be one")
        return {"Authorization": f"Bearer {key}"}

    def _check_status(self, answer: httpx2.Response) -> None:
        status = answer.status_code
        if status in {401, 403}:
            raise self.failed(f"refused the key ({status})", self._key_hint())
        if status == 404:
            model = self._options.endpoint_model
            raise self.failed(
                f"knows no /embeddings or no model {model!r} (404)",
                "Check embed.endpoint_url and embed.endpoint_model.",
            )
        if not answer.is_success:
            raise self.failed(f"answered {status}: {_shown(answer)}")

    def _key_hint(self) -> str:
        variable = self._options.api_key_env
        if variable:
            return f"Check the key in the environment variable {variable}."
        return "Name the variable that holds the key: dowse config set embed.api_key_env NAME"

    def _read(self, answer: httpx2.Response, count: int) -> Matrix:
        try:
            rows = sorted(answer.json()["data"], key=lambda row: row["index"])
            places = [row["index"] for row in rows]
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.failed(f"answered with no embeddings: {_shown(answer)}") from error
        if places != list(range(count)):
            raise self.failed(f"gave {len(rows)} vectors for {count} texts")
        if len({vector.shape for vector in vectors}) != 1 or vectors[0].ndim != 1:
            raise self.failed("gave vectors of different lengths")
        return np.stack(vectors)


def _pause(attempt: int) -> float:
    return min(_FIRST_PAUSE * 2.0**attempt, _LONGEST_PAUSE)


def _requested_pause(answer: httpx2.Response) -> float | None:
    wanted = answer.headers.get("retry-after", "").strip()
    try:
        seconds = float(wanted)
    except ValueError:
        seconds = _seconds_until(wanted)
    return min(seconds, _LONGEST_PAUSE) if seconds > 0 else None


def _seconds_until(date: str) -> float:
    try:
        moment = email.utils.parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return moment.timestamp() - dt.datetime.now(dt.UTC).timestamp()


def _describe(error: Exception) -> str:
    import httpx2  # noqa: PLC0415  (as above)

    if isinstance(error, httpx2.TimeoutException):
        return "did not answer in time"
    return f"cannot be reached: {error}"


def _shown(answer: httpx2.Response) -> str:
    return " ".join(answer.text.split())[:_SHOWN] or "nothing"
