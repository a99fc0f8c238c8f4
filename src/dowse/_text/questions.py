"""Which part of a query asks."""

from __future__ import annotations

import re

_ASKING = (
    "how|what|when|where|which|who|whose|why|"
    "am|are|can|could|did|do|does|has|have|is|may|must|should|was|were|will|would"
)
# After the end of a sentence, and at a comma that a question follows.
_BREAK = re.compile(rf"(?<=[.;!?])\s+|(?<=[。；！？])\s*|,\s+(?=(?:{_ASKING})\b)", re.IGNORECASE)
_QUESTION = re.compile(rf"(?:{_ASKING})\b|.*[?？]$", re.IGNORECASE | re.DOTALL)


def asking_part(text: str) -> str:
    """The last part of a text that is a question, or the text when that is all of it.

    In "My laptop was stolen. How do I get my files back?" the first sentence only says why.
    """
    parts = [part for part in _BREAK.split(text.strip()) if part]
    questions = [part for part in parts if _QUESTION.match(part)]
    return questions[-1] if len(parts) > 1 and questions else text
