"""The state of an index: its epoch, its stamp, and how far each writer has come.

An epoch begins with each rebuild. Each writer counts its own batches, so that writers of
different parts never change the same row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dowse.store.remote.documents import record
from dowse.store.remote.rows import In, Row, RowCollection, Rows
from dowse.store.remote.schema import chunks
from dowse.store.vectors import model_of
from dowse.types import Stamp

FORMAT = 1
"""The version of the rows; an index of a later one is refused."""

EPOCH, ROOTS = "meta/epoch", "meta/roots"
_PROGRESS, _PAID = "meta/progress/", "meta/paid/"


@dataclass(frozen=True, slots=True)
class Head:
    """What holds of an index at one moment."""

    number: int = 0  # of the epoch
    epoch: str = ""  # its name; empty while the index is new
    stamp: Stamp | None = None
    average: float = 0.0  # terms of a chunk, as its weights were made with; 0: nothing was written
    format: int = FORMAT
    roots: tuple[str, ...] = ()
    progress: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by part
    paid: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by debt: part, generation

    @property
    def generation(self) -> int:
        """How many batches the index has taken, by all writers together."""
        return sum(one.get("generation", 0) for one in self.progress.values())

    @property
    def model(self) -> tuple[str, int]:
        """The key and the dimensions of the model whose vectors the index takes."""
        return model_of(self.stamp)

    def owes(self, debt: str) -> bool:
        """Whether any writer has changed documents since a debt was last paid."""
        paid = self.paid.get(debt, {})
        return any(one.get(debt, 0) > paid.get(part, 0) for part, one in self.progress.items())

    def chunks(self, name: str) -> RowCollection:
        """The collection of the chunks of this epoch."""
        return chunks(name, self.epoch, self.model[1])


def read_head(rows: Rows, records: RowCollection) -> Head:
    """The state of an index; that of a new one where there is none."""
    if not rows.exists(records.name):
        return Head()
    found = {row["key"]: row["data"] for row in rows.scan(records, In("kind", ["meta"]), ["data"])}
    values: dict[str, Any] = {key: json.loads(data) for key, data in found.items()}
    return Head(
        **values.get(EPOCH, {}),
        roots=tuple(values.get(ROOTS, ())),
        progress=_below(values, _PROGRESS),
        paid=_below(values, _PAID),
    )


def epoch_row(number: int, stamp: Stamp, average: float) -> Row:
    """The row that makes an epoch the one that counts."""
    data = {
        "number": number,
        "epoch": epoch_name(number, stamp),
        "stamp": stamp,
        "average": average,
        "format": FORMAT,
    }
    return meta_row(EPOCH, data)


def epoch_name(number: int, stamp: Stamp) -> str:
    """The name of an epoch: two writers that begin the same one give it the same name."""
    text = json.dumps(stamp, sort_keys=True)
    return f"{number}x{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def progress_row(part: str, progress: Mapping[str, int]) -> Row:
    """The row that says how far the writer of a part has come."""
    return meta_row(f"{_PROGRESS}{part}", progress)


def paid_row(debt: str, by_part: Mapping[str, int]) -> Row:
    """The row that says up to which batch of each writer something was done."""
    return meta_row(f"{_PAID}{debt}", by_part)


def meta_row(key: str, value: object) -> Row:
    """A row of the state."""
    return record(key, "meta", json.dumps(value, sort_keys=True))


def _below(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): one for key, one in values.items() if key.startswith(prefix)}
