"""The writer behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from dowse._search.answer.options import AnswerOptions
from dowse._util.endpoints import Endpoint, EndpointClient, Wait, encodable

if TYPE_CHECKING:
    from dowse._util.http import HttpReply

_MOST = 4 << 20  # bytes of an answer; a long one has some ten thousand
_SHOWN = 200  # characters of a refusal that an error repeats
_WITHOUT = (
    "Or let answers consist of the documents' own words: dowse config set answer.endpoint_url ''"
)
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


class EndpointWriter:
    """Lets a language model write through `/chat/completions`; may be used by several threads."""

    def __init__(self, options: AnswerOptions, wait: Wait = time.sleep) -> None:
        self._options = options
        self._client = EndpointClient(_endpoint(options), wait)

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._options.endpoint_model

    def write(self, instructions: str, material: str) -> str:
        """What the model writes; raises `EndpointFailed` when it writes nothing."""
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            "messages": [
                {"role": "system", "content": encodable(instructions)},
                {"role": "user", "content": encodable(material)},
            ],
            "temperature": 0,
            "stream": False,
        }
        return self._read(self._ask(body))

    def _ask(self, body: dict[str, Any]) -> HttpReply:
        reply = self._client.reply(body, most=_MOST, waiting=True)
        if reply.status == 400 and "temperature" in reply.text:
            # Some models take no other temperature than their own.
            body = {name: value for name, value in body.items() if name != "temperature"}
            reply = self._client.reply(body, most=_MOST, waiting=True)
        self._client.check(reply)
        return reply

    def _read(self, reply: HttpReply) -> str:
        try:
            choice = reply.json()["choices"][0]
            message = choice["message"]
            said, refusal = _text(message.get("content")), message.get("refusal")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._client.useless(reply, "no text") from error
        if refusal:
            raise self._client.failed(f"declined to answer: {str(refusal)[:_SHOWN]}", _WITHOUT)
        written = _THOUGHTS.sub("", said).strip()
        if not written:
            reason = str(choice.get("finish_reason") or "no reason given")[:_SHOWN]
            raise self._client.failed(
                f"wrote nothing ({reason})", "Try another model, or ask otherwise."
            )
        return written


def _endpoint(options: AnswerOptions) -> Endpoint:
    return Endpoint(
        url=options.endpoint_url,
        path="/chat/completions",
        model=options.endpoint_model,
        settings="answer",
        api_key_env=options.api_key_env,
        timeout=options.timeout,
        otherwise=_WITHOUT,
    )


def _text(content: Any) -> str:
    """The text of a message, which some endpoints give in parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return "" if content is None else str(content)
