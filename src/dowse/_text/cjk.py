"""Which words a run of Chinese, Japanese or Korean characters has, as the settings want it."""

from __future__ import annotations

from collections.abc import Iterator

from dowse import DISTRIBUTION
from dowse._text.languages import Language, Wish, cut, versions_of
from dowse._text.scripts import HANGUL_RUN, KANA_CHARACTER, pairs
from dowse.errors import BadSettings

_HAN: dict[str, Language] = {
    "auto": "chinese",
    "chinese": "chinese",
    "japanese": "japanese",
    "korean": "korean",
}


class CjkTerms:
    """Cuts runs by the tokenizers that are wanted and installed, and into pairs otherwise."""

    def __init__(self, tokenizer: str, stopwords: bool) -> None:
        # Two tokenizers draw the borders of words differently. Where the text decides which one
        # reads Chinese characters, a few of them in a query may be read otherwise than those of
        # the documents; each character by itself is what all readings have in common.
        self._wish = Wish(characters=tokenizer == "auto", common=not stopwords)
        self._by_text = tokenizer == "auto"
        self._han = _HAN.get(tokenizer, "chinese")
        self._used = _used(tokenizer)

    @property
    def versions(self) -> str:
        """The packages that terms depend on, with their versions."""
        return ", ".join(versions_of(language) for language in self._used)

    def is_japanese(self, text: str) -> bool:
        """Whether the Chinese characters of a text are to be read as Japanese because of others."""
        return self._by_text and not text.isascii() and KANA_CHARACTER.search(text) is not None

    def terms(self, run: str, japanese: bool) -> Iterator[str]:
        """The terms of a run, in a text that is Japanese or not known to be."""
        if not self._used:
            yield from pairs(run)
            return
        for index, piece in enumerate(HANGUL_RUN.split(run)):
            if index % 2:
                yield from self._cut("korean", piece)
            elif piece:
                yield from self._cut(self._language(piece, japanese), piece)

    def _language(self, piece: str, japanese: bool) -> Language:
        return "japanese" if japanese or KANA_CHARACTER.search(piece) else self._han

    def _cut(self, language: Language, piece: str) -> Iterator[str]:
        return cut(language, piece, self._wish) if language in self._used else pairs(piece)


def _used(tokenizer: str) -> list[Language]:
    """The languages that are cut by a tokenizer: the one that is set must be installed."""
    if tokenizer == "default":
        return []
    han = _HAN[tokenizer]
    if tokenizer == han and not versions_of(han):
        raise BadSettings(
            f"keyword.tokenizer is {tokenizer!r}, but that tokenizer is not installed.",
            f'Install it with: pip install "{DISTRIBUTION}[cjk]"',
        )
    wanted: set[Language] = {"japanese", "korean", han}
    return sorted(language for language in wanted if versions_of(language))
