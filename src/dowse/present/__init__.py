"""Ranking → what a person or a model reads."""

from dowse.present.answer import extract_answer
from dowse.present.budget import count_tokens, fit, tokens_of_texts, within_budget, within_texts
from dowse.present.formats import as_markdown
from dowse.present.options import OF_THE_WRITER, AnswerOptions
from dowse.present.snippet import snippet
from dowse.present.writer import EndpointWriter
from dowse.present.written import instructions_and_material, written_answer

__all__ = [
    "OF_THE_WRITER",
    "AnswerOptions",
    "EndpointWriter",
    "as_markdown",
    "count_tokens",
    "extract_answer",
    "fit",
    "instructions_and_material",
    "snippet",
    "tokens_of_texts",
    "within_budget",
    "within_texts",
    "written_answer",
]
