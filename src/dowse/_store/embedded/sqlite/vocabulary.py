"""The words of all documents, and those that are spelled nearly like another."""

from __future__ import annotations

import json

from dowse._store.embedded.sqlite.statements import Statements
from dowse._store.spelling import nearly, slips_in
from dowse._text.fold import fold_word

_AFTER_ALL = "\U0010ffff"  # sorts behind every letter
_SEPARATOR = "\x1f"  # between words that are handed over as one string; no word holds it


class SqliteVocabulary:
    """The words of all documents."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def most_frequent(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        query = "SELECT term FROM terms ORDER BY count DESC, term LIMIT ?"
        return [row[0] for row in self._sql.rows(tuple[str], query, max(0, size))]

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Words of the documents that begin so, most frequent first."""
        begin = fold_word(prefix)
        rows = self._sql.rows(
            tuple[str],
            "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY count DESC, term LIMIT ?",
            begin,
            begin + _AFTER_ALL,
            max(0, limit),
        )
        return [row[0] for row in rows]

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """Words of the documents that are spelled nearly so, nearest first, then most frequent."""
        folded = fold_word(word)
        slips = slips_in(folded)
        if not slips:
            return []
        # As one string: to hand over a hundred thousand rows takes longer than to compare them.
        ((together,),) = self._sql.rows(
            tuple[str | None],
            f"SELECT group_concat(term, '{_SEPARATOR}') FROM terms"
            " WHERE length(term) BETWEEN ? AND ?",
            len(folded) - slips,
            len(folded) + slips,
        )
        distances = nearly(folded, (together or "").split(_SEPARATOR))
        counted = self._sql.rows(
            tuple[str, int],
            "SELECT term, count FROM terms WHERE term IN (SELECT value FROM json_each(?))",
            json.dumps(list(distances)),
        )
        counted.sort(key=lambda row: (distances[row[0]], -row[1], row[0]))
        return [term for term, _ in counted[: max(0, limit)]]
