"""The embedder that lets another program, here or elsewhere, make the vectors."""

from __future__ import annotations

import contextlib
import hashlib
import operator
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dowse._embed.options import EmbedOptions
from dowse._model import EmbeddedBatch, Matrix, Model, Vector
from dowse._util.arrays import np
from dowse._util.endpoints import Endpoint, EndpointClient, HttpReply, Wait
from dowse._util.files import UNREADABLE, read_small, update_file
from dowse._util.messages import encodable, hide_secrets
from dowse._util.process import run_parallel
from dowse.errors import Locked

_PER_TEXT = 1_600_000  # bytes: the longest vectors that the settings allow, as JSON
_BESIDE = 1 << 20  # bytes around the vectors
_MOST = 192 << 20  # bytes of any answer
_QUESTION = "How long are your vectors?"  # any text would do


class EndpointEmbedder:
    """Embeds through an OpenAI-compatible endpoint; safe from several threads.

    How long its vectors are is asked once and remembered in `notes`, so that opening an index
    costs no request.
    """

    def __init__(
        self,
        options: EmbedOptions,
        notes: Path,
        wait: Wait = time.sleep,
        *,
        offline: bool = False,
    ) -> None:
        self._options = options
        self._offline = offline
        self._notes = notes
        self._dimensions = options.endpoint_dimensions
        self._client = EndpointClient(
            Endpoint(
                url=options.endpoint_url,
                path="/embeddings",
                model=options.endpoint_model,
                settings="embed",
                api_key_env=options.api_key_env,
                timeout=options.endpoint_timeout,
                timeout_setting="endpoint_timeout",
                retries=options.endpoint_retries,
                otherwise="Or make vectors on this machine: dowse config set embed.provider local",
            ),
            wait,
        )

    @property
    def model(self) -> Model:
        """Return the model behind the vectors; the first time ever, this may ask the endpoint.

        Offline it asks nobody, and raises `EndpointFailed` when nobody has asked before.
        """
        name = self._options.endpoint_model.rpartition("/")[2]
        if not self._known_dimensions():
            if self._offline:
                raise self._client.failed("has not been asked yet how long its vectors are")
            self._vectors([_QUESTION], waiting=True)
        return Model(
            f"endpoint/{name}/{self._digest()}",
            self._dimensions,
            self._options.endpoint_max_tokens,
        )

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embed texts to be found, yielding batches as they are done."""
        size = self._options.endpoint_batch_size
        jobs = (range(start, min(start + size, len(texts))) for start in range(0, len(texts), size))
        prefix = self._options.endpoint_passage_prefix

        def embed(places: range) -> EmbeddedBatch:
            some = [prefix + texts[place] for place in places]
            return EmbeddedBatch(tuple(places), self._vectors(some, waiting=False))

        yield from run_parallel(embed, jobs, self._options.endpoint_parallel)

    def query(self, text: str) -> Vector:
        """Embed a text to search with."""
        prefixed = self._options.endpoint_query_prefix + text
        vector: Vector = self._vectors([prefixed], waiting=True)[0]
        return vector

    def _vectors(self, texts: Sequence[str], *, waiting: bool) -> Matrix:
        """Ask for vectors of texts, one row each; a person may be waiting."""
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            # Endpoints refuse empty texts, which are as good as a blank.
            "input": [encodable(text) if text.strip() else " " for text in texts],
            "encoding_format": "float",
        }
        if self._options.endpoint_shorten:
            body["dimensions"] = self._options.endpoint_dimensions
        most = min(_BESIDE + _PER_TEXT * len(texts), _MOST)
        reply = self._client.reply(body, most=most, waiting=waiting)
        self._client.check(reply)
        vectors = self._read(reply, len(texts))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
            raise self._client.failed(
                "gave vectors without a length",
                "Check that embed.endpoint_model names an embedding model.",
            )
        found, expected = vectors.shape[1], self._known_dimensions()
        if not expected:
            self._learn(found)
        elif found != expected:
            raise self._client.failed(
                f"gave vectors of {found} dimensions, expected {expected}",
                "Check embed.endpoint_model; if its model has changed, set "
                "embed.endpoint_dimensions and rebuild the index.",
            )
        unit: Matrix = vectors / lengths
        return unit

    def _read(self, reply: HttpReply, count: int) -> Matrix:
        try:
            rows = sorted(reply.json()["data"], key=_place)
            places = [_place(row) for row in rows]
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise self._client.useless(reply, "no embeddings") from error
        if places != list(range(count)):
            raise self._client.failed(f"gave {len(rows)} vectors for {count} texts")
        if len({vector.shape for vector in vectors}) != 1 or vectors[0].ndim != 1:
            raise self._client.failed("gave vectors of different lengths")
        return np.stack(vectors)

    # ── How long its vectors are ─────────────────────────────────────────────

    def _known_dimensions(self) -> int:
        with contextlib.suppress(*UNREADABLE):
            if not self._dimensions:
                known = msgspec.json.decode(read_small(self._notes), type=dict[str, int])
                self._dimensions = known.get(self._digest(), 0)
        return self._dimensions

    def _learn(self, dimensions: int) -> None:
        self._dimensions = dimensions

        def learned(before: bytes | None) -> bytes:
            known = msgspec.json.decode(before or b"{}", type=dict[str, int])
            return msgspec.json.encode(known | {self._digest(): dimensions})

        with contextlib.suppress(*UNREADABLE, Locked):  # then it is asked again
            update_file(self._notes, learned)

    def _digest(self) -> str:
        options = self._options
        prefixes = (options.endpoint_query_prefix, options.endpoint_passage_prefix)
        shortened = options.endpoint_shorten and options.endpoint_dimensions
        # Without its secrets: the digest is part of an export, and a new password is no new model.
        address = hide_secrets(options.endpoint_url.rstrip("/"))
        named = (address, options.endpoint_model, shortened, prefixes)
        return hashlib.sha256(repr(named).encode("utf-8", "replace")).hexdigest()[:8]


def _place(row: dict[str, Any]) -> int:
    """Say which text a vector belongs to; some endpoints leave the index out where it is 0."""
    place = row.get("index")
    return 0 if place is None else operator.index(place)
