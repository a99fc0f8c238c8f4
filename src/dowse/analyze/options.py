"""What a user can choose about keyword analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import Stemmer

from dowse.errors import BadSettings


@dataclass(frozen=True, slots=True)
class KeywordOptions:
    """How words become terms, and how much a match in each field weighs (BM25F boosts)."""

    language: Annotated[str, "Language of the stemmer and its rules, such as english."] = "english"
    stemming: Annotated[bool, "Reduce words to their stems."] = True
    stopwords: Annotated[bool, "Leave out words too common to tell documents apart."] = True
    tokenizer: Annotated[
        str,
        "How Chinese, Japanese and Korean are cut: default (characters and pairs of them), "
        "japanese, korean or chinese (the language of Chinese characters; kana and Hangul are "
        "known by themselves), or auto (told by each text). All but default use the extra cjk.",
    ] = "default"
    title: Annotated[float, "Weight of the title."] = 6.0
    headers: Annotated[float, "Weight of the headings above a chunk."] = 5.0
    keywords: Annotated[float, "Weight of the frontmatter's keywords."] = 5.0
    description: Annotated[float, "Weight of the frontmatter's description."] = 4.0
    tags: Annotated[float, "Weight of tags."] = 4.0
    aliases: Annotated[float, "Weight of aliases."] = 3.0
    author: Annotated[float, "Weight of authors."] = 1.0
    category: Annotated[float, "Weight of the category."] = 1.0
    content: Annotated[float, "Weight of the text itself."] = 1.0

    def __post_init__(self) -> None:
        """Rejects what no index could be built with."""
        if self.language not in Stemmer.algorithms():
            known = ", ".join(Stemmer.algorithms())
            raise BadSettings(f"keyword.language is {self.language!r}.", f"Known: {known}.")
        if self.tokenizer not in TOKENIZERS:
            known = ", ".join(TOKENIZERS)
            raise BadSettings(f"keyword.tokenizer is {self.tokenizer!r}.", f"Known: {known}.")
        for name in BOOSTED:
            if not 0 <= getattr(self, name) <= 10:
                raise BadSettings(f"keyword.{name} must lie between 0 and 10.")


@dataclass(frozen=True, slots=True)
class VocabularyOptions:
    """Which words of the documents are embedded, so that queries can be expanded with them."""

    size: Annotated[int, "How many of the most frequent words; 0 embeds none."] = 10_000

    def __post_init__(self) -> None:
        """Rejects what no vocabulary could be built with."""
        if not 0 <= self.size <= 100_000:
            raise BadSettings("vocabulary.size must lie between 0 and 100000.")


TOKENIZERS = ("default", "auto", "japanese", "korean", "chinese")
"""The ways in which text without spaces can be cut."""

BOOSTED = (
    "title",
    "headers",
    "keywords",
    "description",
    "tags",
    "aliases",
    "author",
    "category",
    "content",
)
"""The fields of a chunk, in the order in which their terms are laid down."""
