"""Results → an answer: in the documents' own words, or written by a language model."""

from typing import TYPE_CHECKING

from dowse.late import late_names

if TYPE_CHECKING:
    from dowse.answer.extract import Read, answer_of, extract_answer, read_of
    from dowse.answer.llm_client import EndpointWriter
    from dowse.answer.llm_prompt import instructions_and_material, written_answer
    from dowse.answer.options import OF_THE_WRITER, AnswerOptions
else:
    __getattr__ = late_names(
        __name__,
        {
            "extract": "Read answer_of extract_answer read_of",
            "llm_client": "EndpointWriter",
            "llm_prompt": "instructions_and_material written_answer",
            "options": "OF_THE_WRITER AnswerOptions",
        },
    )

__all__ = [
    "OF_THE_WRITER",
    "AnswerOptions",
    "EndpointWriter",
    "Read",
    "answer_of",
    "extract_answer",
    "instructions_and_material",
    "read_of",
    "written_answer",
]
