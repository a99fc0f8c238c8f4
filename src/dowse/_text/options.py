"""What a user can choose about keyword analysis."""

from __future__ import annotations

from typing import Annotated

import Stemmer
from msgspec import Meta

from dowse._util.bounds import NAME, Options
from dowse.errors import BadSettings

_WEIGHT = Meta(ge=0, le=10)


class KeywordOptions(Options, frozen=True):
    """How words become terms, and how much a match in each field weighs (BM25F boosts)."""

    language: Annotated[
        str,
        NAME,
        "Language of the stemmer. With english, documents in German, French, Spanish, Portuguese, "
        "Italian, Dutch and Russian are recognised and stemmed by their own rules, too.",
    ] = "english"
    stemming: Annotated[bool, "Reduce words to their stems."] = True
    stopwords: Annotated[bool, "Leave out words too common to tell documents apart."] = True
    tokenizer: Annotated[
        str,
        NAME,
        "How Chinese, Japanese and Korean are cut: default (characters and pairs of them), "
        "japanese, korean or chinese (the language of Chinese characters; kana and Hangul are "
        "known by themselves), or auto (detected in each text). All but default use the extra cjk.",
    ] = "default"
    title: Annotated[float, _WEIGHT, "Weight of the title."] = 6.0
    headers: Annotated[float, _WEIGHT, "Weight of the headings above a chunk."] = 5.0
    keywords: Annotated[float, _WEIGHT, "Weight of the frontmatter's keywords."] = 5.0
    description: Annotated[float, _WEIGHT, "Weight of the frontmatter's description."] = 4.0
    tags: Annotated[float, _WEIGHT, "Weight of tags."] = 4.0
    aliases: Annotated[float, _WEIGHT, "Weight of aliases."] = 3.0
    author: Annotated[float, _WEIGHT, "Weight of authors."] = 1.0
    category: Annotated[float, _WEIGHT, "Weight of the category."] = 1.0
    content: Annotated[float, _WEIGHT, "Weight of the text itself."] = 1.0

    def __post_init__(self) -> None:
        """Reject what no index could be built with."""
        for name, known in (("language", Stemmer.algorithms()), ("tokenizer", TOKENIZERS)):
            value = getattr(self, name)
            if value not in known:
                raise BadSettings(f"keyword.{name} is {value!r}.", f"Known: {', '.join(known)}.")
        super().__post_init__()


class VocabularyOptions(Options, frozen=True):
    """Which words of the documents are embedded, so that queries can be expanded with them."""

    size: Annotated[
        int,
        Meta(ge=-1, le=100_000),
        "Embed this many of the most frequent words; 0: none; -1: 10,000 if expand.enabled is set, "
        "none otherwise.",
    ] = -1


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
