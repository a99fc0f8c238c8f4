"""The vectors of texts as records, by model and text key."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence

from dowse._model import Vector
from dowse._store.remote.documents import record
from dowse._store.remote.rows import Row, RowCollection, Rows
from dowse._store.sql.database import decode_vector, encode_vector

KIND = "vector"
_AT_ONCE = 500  # vectors that are asked for in one call


def vector_keys(model: str, keys: Sequence[bytes]) -> list[str]:
    """The names of the records of some text keys."""
    made_by = hashlib.sha256(model.encode()).hexdigest()[:12]
    return [f"vector/{made_by}/{key.hex()}" for key in keys]


def vector_rows(model: str, dimensions: int, vectors: Mapping[bytes, Vector]) -> list[Row]:
    """Vectors as records; raises when one does not fit the index."""
    names = vector_keys(model, list(vectors))
    return [
        record(name, KIND, base64.b64encode(encode_vector(vector, dimensions)).decode("ascii"))
        for name, vector in zip(names, vectors.values(), strict=True)
    ]


def read_vectors(
    rows: Rows, records: RowCollection, model: str, keys: Sequence[bytes]
) -> dict[bytes, Vector]:
    """The vectors of some text keys, as far as there are any."""
    wanted = list(dict.fromkeys(keys))
    found: dict[bytes, Vector] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        names = vector_keys(model, some)
        known = rows.get(records, names, ["data"])
        for key, name in zip(some, names, strict=True):
            if name in known:
                found[key] = decode_vector(base64.b64decode(known[name]["data"]))
    return found
