"""What a user can choose about answers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dowse._util.bounds import ALWAYS, NAME, check_bounds, check_key_variable, check_web_address
from dowse.errors import BadSettings

OF_THE_WRITER = frozenset(
    f"answer.{name}" for name in ("endpoint_url", "endpoint_model", "api_key_env", "timeout")
)
"""Settings of the model that writes answers.

A call to an open project cannot change them: a client that may ask a server could otherwise have it
send documents and keys anywhere.
"""


class AnswerOptions(Struct, frozen=True):
    """How an answer is put together, and which language model writes it, if any."""

    sentences: Annotated[
        int,
        Meta(ge=1, le=20),
        ALWAYS,
        "Most sentences of an answer without a language model, 1 to 20.",
    ] = 3
    max_chars: Annotated[
        int,
        Meta(ge=50, le=100_000),
        ALWAYS,
        "Most characters of an answer without a language model, from 50.",
    ] = 800
    candidates: Annotated[
        int,
        Meta(ge=0, le=1000),
        ALWAYS,
        "Most sentences compared with the question by meaning, about 5 ms each; 0 to 1000.",
    ] = 60
    endpoint_url: Annotated[
        str,
        NAME,
        ALWAYS,
        "Address that /chat/completions is appended to, such as http://localhost:11434/v1; "
        "empty means that answers consist of the documents' own sentences.",
    ] = ""
    endpoint_model: Annotated[
        str, NAME, ALWAYS, "Name of the model that the endpoint is asked for."
    ] = ""
    api_key_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the endpoint's key; never the key itself.",
    ] = ""
    timeout: Annotated[
        float, Meta(ge=0.1, le=3600), ALWAYS, "Seconds that the endpoint may take, 0.1 to 3600."
    ] = 60.0
    context_chars: Annotated[
        int,
        Meta(ge=200, le=10_000_000),
        ALWAYS,
        "Most characters of the results that the endpoint is shown, from 200.",
    ] = 8000

    def __post_init__(self) -> None:
        """Rejects what no answer could be made with."""
        check_bounds(self, "answer")
        check_key_variable("answer.api_key_env", self.api_key_env)
        if self.endpoint_url:
            self._check_endpoint()

    def _check_endpoint(self) -> None:
        check_web_address("answer.endpoint_url", self.endpoint_url)
        if not self.endpoint_model:
            raise BadSettings(
                "answer.endpoint_url needs answer.endpoint_model.",
                "Set that first with: dowse config set answer.endpoint_model NAME",
            )
