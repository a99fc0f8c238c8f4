"""The writer behind an OpenAI-compatible endpoint: asked once, and once more where that helps."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dowse.errors import EndpointFailed
from dowse.masking import hide_secrets
from dowse.present.options import AnswerOptions

if TYPE_CHECKING:
    import httpx2

_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_PAUSE = 1.0  # seconds before the second try, unless the endpoint asks for another pause
_LONGEST_PAUSE = 20.0  # seconds; a person is waiting
_SHOWN = 200  # characters of an answer that an error repeats
_WITHOUT = (
    "Or let answers consist of the documents' own words: dowse config set answer.endpoint_url ''"
)
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)

Wait = Callable[[float], None]
"""Waits some seconds; tests put another in its place."""


class EndpointWriter:
    """Lets a language model write through `/chat/completions`; may be used by several threads."""

    def __init__(self, options: AnswerOptions, wait: Wait = time.sleep) -> None:
        self._options = options
        self._wait = wait

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._options.endpoint_model

    def write(self, instructions: str, material: str) -> str:
        """What the model writes; raises `EndpointFailed` when it writes nothing."""
        body: dict[str, Any] = {
            "model": self._options.endpoint_model,
            "messages": [
                {"role": "system", "content": _encodable(instructions)},
                {"role": "user", "content": _encodable(material)},
            ],
            "temperature": 0,
            "stream": False,
        }
        return self._read(self._ask(body))

    # ── Asking ───────────────────────────────────────────────────────────────

    def _ask(self, body: dict[str, Any]) -> httpx2.Response:
        first = self._post(body, last=False)
        if first is not None and _rejects_temperature(first):
            # Some models take no other temperature than their own.
            body = {name: value for name, value in body.items() if name != "temperature"}
        elif first is not None and first.status_code not in _WORTH_RETRYING:
            self._check(first)
            return first
        else:
            self._wait(_PAUSE if first is None else self._requested_pause(first))
        second = self._post(body, last=True)
        if second is None:
            raise self._failed("cannot be reached")
        self._check(second)
        return second

    def _post(self, body: dict[str, Any], *, last: bool) -> httpx2.Response | None:
        """The endpoint's answer; None when it could not be reached and may be tried again."""
        import httpx2  # noqa: PLC0415  (only an endpoint needs the network)

        url = f"{self._options.endpoint_url.rstrip('/')}/chat/completions"
        try:
            return httpx2.post(
                url, json=body, headers=self._headers(), timeout=self._options.timeout
            )
        except httpx2.InvalidURL as error:
            raise self._failed(f"has no usable address: {error}") from error
        except httpx2.TimeoutException as error:
            raise self._failed(
                f"did not answer within {self._options.timeout:g} seconds",
                "Give it longer with: dowse config set answer.timeout SECONDS",
            ) from error
        except httpx2.RequestError as error:
            if last:
                raise self._failed(
                    f"cannot be reached: {error}", f"Check that it runs. {_WITHOUT}"
                ) from error
            return None

    def _requested_pause(self, answer: httpx2.Response) -> float:
        seconds = _seconds(answer.headers.get("retry-after", ""))
        if seconds > _LONGEST_PAUSE:
            raise self._failed(f"wants {seconds:g} seconds of rest first", "Try again then.")
        return seconds

    def _key(self) -> str:
        variable = self._options.api_key_env
        return os.environ.get(variable, "").strip() if variable else ""

    def _headers(self) -> dict[str, str]:
        variable, key = self._options.api_key_env, self._key()
        if not variable:
            return {}
        if not key:
            raise self._failed(
                f"needs a key, but {variable} is not set", f"Put the key into {variable}."
            )
        if not key.isascii() or not key.isprintable():
            raise self._failed(f"needs a key, but what {variable} holds cannot be one")
        return {"Authorization": f"Bearer {key}"}

    # ── Reading the answer ───────────────────────────────────────────────────

    def _check(self, answer: httpx2.Response) -> None:
        status = answer.status_code
        if status in {401, 403}:
            raise self._failed(f"refused the key ({status})", self._key_hint())
        if status == 404:
            raise self._failed(
                f"knows no /chat/completions or no model {self.name!r} (404)",
                "Check answer.endpoint_url and answer.endpoint_model.",
            )
        if not answer.is_success:
            raise self._failed(f"answered {status}: {self._shown(answer)}", _WITHOUT)

    def _key_hint(self) -> str:
        if variable := self._options.api_key_env:
            return f"Check the key in the environment variable {variable}."
        return "Name the variable that holds the key: dowse config set answer.api_key_env NAME"

    def _read(self, answer: httpx2.Response) -> str:
        try:
            choice = answer.json()["choices"][0]
            message = choice["message"]
            said, refusal = _text(message.get("content")), message.get("refusal")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._failed(
                f"answered with no text: {self._shown(answer)}",
                "Check that answer.endpoint_url leads to an OpenAI-compatible endpoint.",
            ) from error
        if refusal:
            raise self._failed(f"declined to answer: {str(refusal)[:_SHOWN]}", _WITHOUT)
        written = _THOUGHTS.sub("", said).strip()
        if not written:
            reason = choice.get("finish_reason") or "no reason given"
            raise self._failed(f"wrote nothing ({reason})", "Try another model, or ask otherwise.")
        return written

    def _shown(self, answer: httpx2.Response) -> str:
        return " ".join(self._without_secrets(answer.text).split())[:_SHOWN] or "nothing"

    def _failed(self, what: str, hint: str = "") -> EndpointFailed:
        """An error that names the endpoint and says what it did."""
        said = f"The endpoint {self._options.endpoint_url} {what}."
        return EndpointFailed(self._without_secrets(said), hint)

    def _without_secrets(self, text: str) -> str:
        text = hide_secrets(text)
        key = self._key()
        return text.replace(key, "***") if key else text


def _seconds(wanted: str) -> float:
    """What a Retry-After asks for, as a number of seconds or as a date."""
    if re.fullmatch(r"\d{1,9}(\.\d*)?", wanted.strip()):
        return float(wanted)
    import email.utils  # noqa: PLC0415  (only a busy endpoint needs it)

    try:
        moment = email.utils.parsedate_to_datetime(wanted)
    except ValueError:
        return _PAUSE
    return max(0.0, moment.timestamp() - time.time())


def _rejects_temperature(answer: httpx2.Response) -> bool:
    return answer.status_code == 400 and "temperature" in answer.text


def _text(content: Any) -> str:
    """The text of a message, which some endpoints give in parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return "" if content is None else str(content)


def _encodable(text: str) -> str:
    """The text with halves of character pairs, which broken files contain, replaced by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
