"""Text → token numbers, cut to what the model can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dowse._util.masking import encodable
from dowse.errors import EmbedError

# Real text has 1 to 10 characters per token. What is beyond this many could only be reached
# through runs of blanks or words that the model does not know, and reading it all takes seconds.
_CHARACTERS_PER_TOKEN = 64


class TextTokenizer:
    """Numbers the tokens of texts; may be used by several threads at once."""

    def __init__(self, content: bytes, max_tokens: int) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415  (not every command embeds)

        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises nothing more special
            raise EmbedError(f"The model's tokenizer.json cannot be used: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._max_characters = max_tokens * _CHARACTERS_PER_TOKEN

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token numbers of each text, those that mark its ends included."""
        cleaned = [self._clean(text) for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cleaned)]

    def pair(self, first: str, second: str) -> Any:
        """Two texts as one sequence: its `ids`, and in `type_ids` which text each belongs to."""
        return self._tokenizer.encode(self._clean(first), self._clean(second))

    def _clean(self, text: str) -> str:
        return encodable(text[: self._max_characters])
