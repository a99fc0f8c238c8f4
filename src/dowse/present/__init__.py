"""Ranking → what a person or a model reads."""

from dowse.present.budget import (
    count_tokens,
    fill,
    fit,
    tokens_of_texts,
    within_budget,
    within_texts,
)
from dowse.present.formats import as_markdown, with_projects
from dowse.present.grep import grep_line
from dowse.present.ranges import range_around, ranges, text_of
from dowse.present.snippet import excerpt, snippet

__all__ = [
    "as_markdown",
    "count_tokens",
    "excerpt",
    "fill",
    "fit",
    "grep_line",
    "range_around",
    "ranges",
    "snippet",
    "text_of",
    "tokens_of_texts",
    "with_projects",
    "within_budget",
    "within_texts",
]
