"""The state of an index: its epoch, its stamp, and how far each writer has come.

An epoch begins with each rebuild. Each writer counts its own batches, so that writers of
different parts never change the same row.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from dowse._model import Stamp
from dowse._store.remote.documents import record
from dowse._store.remote.rows import In, Row, RowCollection, Rows
from dowse._store.remote.schema import chunks, records, state
from dowse._store.remote.weights import Averages
from dowse._store.sql.database import model_of

FORMAT = 4
"""The version of the rows; an index of a later one is refused."""

OLDEST = 3
"""The first version that can be used: its state is still among the records."""

EPOCH, ROOTS = "meta/epoch", "meta/roots"
_NOTHING = Averages()
_PROGRESS, _PAID = "meta/progress/", "meta/paid/"
_KEPT = frozenset({"number", "epoch", "stamp", "format"})  # older versions wrote others as well
# The collections of an index whose name begins like that of another must not be taken for it.
_EPOCH_NAME = re.compile(r"\d+x[0-9a-f]{8}")


class Head(Struct, frozen=True):
    """What holds of an index at one moment."""

    number: int = 0  # of the epoch
    epoch: str = ""  # its name; empty while the index is new
    stamp: Stamp | None = None
    averages: Averages = _NOTHING  # that weights were made with; 0: nothing was written
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


def read_head(rows: Rows, name: str) -> Head:
    """The state of an index; that of a new one where there is none."""
    return head_of(read_state(rows, name))


def read_state(rows: Rows, name: str) -> list[Row]:
    """The rows of the state; none where there is no index."""
    found = _state_in(rows, state(name))
    return found if _has_epoch(found) else _state_in(rows, records(name)) or found


def take_over(rows: Rows, name: str) -> None:
    """Moves the state of an index of format 3 into its own collection.

    The row of the epoch comes last: until then the former rows count. They stay, so that an earlier
    version of dowse reads there that it must not be used any more.
    """
    if _has_epoch(_state_in(rows, state(name))):
        return
    former = {row["key"]: json.loads(row["data"]) for row in _state_in(rows, records(name))}
    epoch = former.pop(EPOCH, {})
    if epoch.get("format") == OLDEST:
        moved = meta_row(EPOCH, epoch | {"format": FORMAT})
        rows.put(state(name), [meta_row(key, value) for key, value in former.items()])
        rows.put(state(name), [moved])
        rows.put(records(name), [moved])


def _state_in(rows: Rows, collection: RowCollection) -> list[Row]:
    if not rows.exists(collection.name):
        return []
    return list(rows.scan(collection, In("kind", ["meta"]), ["data"]))


def _has_epoch(found: Sequence[Row]) -> bool:
    return any(row["key"] == EPOCH for row in found)


def head_of(rows: Iterable[Row]) -> Head:
    """The state that these rows say."""
    values: dict[str, Any] = {row["key"]: json.loads(row["data"]) for row in rows}
    epoch = dict(values.get(EPOCH, {}))
    averages = Averages(*epoch.pop("averages", ()))
    return Head(
        **{name: value for name, value in epoch.items() if name in _KEPT},
        averages=averages,
        roots=tuple(values.get(ROOTS, ())),
        progress=_below(values, _PROGRESS),
        paid=_below(values, _PAID),
    )


def epoch_row(number: int, epoch: str, stamp: Stamp | None, averages: Averages = _NOTHING) -> Row:
    """The row that makes an epoch the one that counts."""
    data = {
        "number": number,
        "epoch": epoch,
        "stamp": stamp or {},
        "averages": averages,
        "format": FORMAT,
    }
    return meta_row(EPOCH, data)


def epoch_name(number: int, stamp: Stamp) -> str:
    """The name of an epoch: two writers that begin the same one give it the same name."""
    text = json.dumps(stamp, sort_keys=True)
    return f"{number}x{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def hidden_name(number: int) -> str:
    """The name of an epoch that nobody else may begin or meet."""
    return f"{number}x{secrets.token_hex(4)}"


def epochs_of(rows: Rows, name: str) -> list[str]:
    """The epochs of an index that have a collection of chunks, also those that do not count."""
    prefix = chunks(name, "", 0).name
    found = (one.removeprefix(prefix) for one in rows.names(prefix))
    return [epoch for epoch in found if _EPOCH_NAME.fullmatch(epoch)]


def drop_epoch(rows: Rows, name: str, epoch: str) -> None:
    """Removes the rows of an epoch; its collection goes last, so that a crash can be noticed."""
    for kind in ("entry", "body", "words"):
        rows.remove_where(records(name), In("kind", [f"{epoch}/{kind}"]))
    rows.drop(chunks(name, epoch, 0).name)


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
