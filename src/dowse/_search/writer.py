"""The language model of an endpoint, which writes answers."""

from __future__ import annotations

import re
import time
from typing import Any

from dowse._search.answer import AnswerOptions
from dowse._util.endpoints import Endpoint, EndpointClient, Wait
from dowse._util.messages import encodable

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
        self._client = EndpointClient(
            Endpoint(
                url=options.endpoint_url,
                path="/chat/completions",
                model=options.endpoint_model,
                settings="answer",
                api_key_env=options.api_key_env,
                timeout=options.timeout,
                otherwise=_WITHOUT,
            ),
            wait,
        )

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._options.endpoint_model

    def write(self, instructions: str, material: str) -> str:
        """Return what the model writes; raise `EndpointFailed` when it writes nothing."""
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            "messages": [
                {"role": "system", "content": encodable(instructions)},
                {"role": "user", "content": encodable(material)},
            ],
            "temperature": 0,
            "stream": False,
        }
        reply = self._client.reply(body, most=_MOST, waiting=True)
        if reply.status == 400 and "temperature" in reply.text:
            # Some models take no other temperature than their own.
            del body["temperature"]
            reply = self._client.reply(body, most=_MOST, waiting=True)
        self._client.check(reply)
        try:
            choice = reply.json()["choices"][0]
            content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
            if isinstance(content, list):  # some endpoints give the text in parts
                content = "".join(part.get("text") or "" for part in content)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._client.useless(reply, "no text") from error
        if refusal:
            raise self._client.failed(f"declined to answer: {str(refusal)[:_SHOWN]}", _WITHOUT)
        written = _THOUGHTS.sub("", "" if content is None else str(content)).strip()
        if not written:
            reason = str(choice.get("finish_reason") or "no reason given")[:_SHOWN]
            raise self._client.failed(
                f"wrote nothing ({reason})", "Try another model, or ask otherwise."
            )
        return written
