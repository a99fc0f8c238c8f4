"""What commands that keep running log: text for people, or JSON for programs that collect it."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

_LEVELS = ("error", "warning", "info", "debug")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def takes_logging(command: _Decorated) -> _Decorated:
    """Add the options of the log to a command that keeps running."""
    level = click.option(
        "--log-level",
        type=click.Choice(_LEVELS),
        default="warning",
        show_default=True,
        help="What is logged to stderr. No level logs queries or text of documents.",
    )
    form = click.option(
        "--log-format",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        help="Log as lines of text, or as one JSON document per line.",
    )
    return form(level(command))


def start_logging(form: str, level: str) -> None:
    """Log to stderr what dowse says of itself."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_is_worth_a_line)
    handler.setFormatter(_AsJson() if form == "json" else _AsText())
    own = logging.getLogger("dowse")
    own.handlers[:] = [handler]
    own.setLevel(level.upper())
    own.propagate = False
    # Libraries are heard when something is wrong with them; what they say in detail may be private.
    others = logging.getLogger()
    others.handlers[:] = [handler]
    others.setLevel(logging.ERROR if level == "error" else logging.WARNING)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Keep what is about the server: a client that goes away in the middle is not."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or kind.__name__ != "ClientDisconnect"


class _AsText(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Write one line: when, how bad, what, and its figures."""
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = getattr(record, "fields", {})
        figures = f" milliseconds={fields['milliseconds']}" if "milliseconds" in fields else ""
        message = " ".join(record.getMessage().splitlines())
        entry = f"{moment} {record.levelname.lower()} {message}{figures}"
        if record.exc_info:
            entry += "\n" + self.formatException(record.exc_info)
        return entry


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Write one JSON document on one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=True, default=str)
