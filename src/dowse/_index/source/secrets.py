"""Secrets in documents: found by pattern and replaced, before anything is indexed, sent or shown.

The built-in patterns match only what is made to be recognised: tokens with a prefix of their
maker's and private keys between their markers. They are as exact as those of secret scanners, so
next to nothing else is lost. What merely looks secret, such as `password: …`, is left to patterns
of the user's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import cache

from dowse._index.source.files import Unreadable
from dowse._text.scripts import late_pattern
from dowse.errors import BadSettings

KNOWN = "known"
"""The name of all built-in patterns but `jwt`: samples of those are common in documentation."""

PLACEHOLDER = "[redacted]"
"""What a reader sees instead."""

_OWN = "re:"  # what a regular expression of the user's begins with
_SECONDS = 10.0  # that looking for the user's patterns may take in one file

_WIDEST = 2000  # characters that a pattern of the user's may match


Span = tuple[int, int]
_Pattern = tuple[re.Pattern[str], tuple[str, ...]]
"""An expression, and texts of which one is in every match; none for an expression of the user's."""

# The texts are what a match must contain: most files have none of them, and are done at once.
_BUILT_IN: dict[str, tuple[tuple[str, ...], str]] = {
    "private-key": (
        ("PRIVATE KEY",),
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?>(?:[^-]|-(?!----)){0,20000})-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?>(?:\s{0,9}[A-Za-z0-9+/=]{16,200}){0,400}))"
        ),
    ),
    "aws": (("AKIA", "ASIA", "ABIA", "ACCA"), r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    "github": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{80,255})",
    ),
    "gitlab": (("glpat-",), r"\bglpat-[A-Za-z0-9_.-]{20,300}"),
    "slack": (
        ("xox", "hooks.slack.com"),
        (
            r"\b(?:xox[abeoprs]-[A-Za-z0-9-]{20,300}"
            r"|hooks\.slack\.com/services/T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40})"
        ),
    ),
    "google": (("AIza",), r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    "stripe": (("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{16,250}"),
    "openai": (
        ("sk-", "T3BlbkFJ"),
        r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,250}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    "anthropic": (("sk-ant-",), r"\bsk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{40,250}"),
    "npm": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    "pypi": (("pypi-AgEIcHlwaS5vcmc",), r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,500}"),
    "jwt": (
        ("eyJ",),
        r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,2000}",
    ),
}

NAMES = (KNOWN, *_BUILT_IN)
"""What can be left out by name."""


def redact(text: str, entries: Sequence[str]) -> tuple[str, int]:
    """Return the text without what the entries of `read.redact` match, and how often that was.

    A match that runs over several lines leaves as many, so that line numbers stay right. Raises
    `Unreadable` when looking takes too long: then the file is left out, not its secrets let in.
    """
    deadline = time.monotonic() + _SECONDS
    found: list[Span] = []
    for expression, needles in compiled(tuple(entries)):
        if not needles:
            found += _windowed(expression, text, deadline)
        elif any(needle in text for needle in needles):
            found += (match.span() for match in expression.finditer(text))
    parts, end, count = [], 0, 0
    for start, stop in sorted(found):
        if start >= end:  # those that overlap are one
            parts += [text[end:start], PLACEHOLDER]
            count += 1
        parts.append("\n" * text.count("\n", max(start, end), stop))
        end = max(end, stop)
    return "".join([*parts, text[end:]]) if count else text, count


@cache
def compiled(entries: tuple[str, ...]) -> tuple[_Pattern, ...]:
    """Return the patterns that entries of `read.redact` mean; raises `BadSettings`."""
    return tuple(pattern for entry in entries for pattern in _patterns(entry))


def _patterns(entry: str) -> Iterator[_Pattern]:
    if entry.startswith(_OWN):
        yield _own(entry.removeprefix(_OWN)), ()
        return
    if entry not in NAMES:
        raise BadSettings(
            f"read.redact knows no {entry!r}.",
            f"Known: {', '.join(NAMES)}; or write {_OWN} and a pattern.",
        )
    for name in [one for one in _BUILT_IN if one != "jwt"] if entry == KNOWN else [entry]:
        needles, expression = _BUILT_IN[name]
        yield late_pattern(expression), needles


def _own(expression: str) -> re.Pattern[str]:
    """Return a regular expression of the user's, if it is sure to be fast on every text."""
    problem = _why_slow(expression)
    try:
        pattern = re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        problem = f"it is no regular expression: {error}"
    else:
        problem = problem or ("it matches nothing at all" if pattern.fullmatch("") else "")
    if problem:
        raise BadSettings(
            f"read.redact: {_OWN}{expression} cannot be used: {problem}.",
            "Write it as a series of characters and sets, each with how often: [a-z]{8,40}",
        )
    return pattern


_TOKEN = late_pattern(
    r"(?P<many>[*+]|\{\d*,\})|(?P<repeat>\?\??\+?|\{(?P<low>\d*)(?:,(?P<high>\d+))?\})"
    r"|(?P<special>\(\?(?!:)|\\[0-9])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|.",
    re.DOTALL,
)


def _why_slow(expression: str) -> str:
    """Say why a pattern could take long on some text; empty when it cannot.

    Repeats have an end and are not repeated themselves: then the ways in which the pattern can
    match at one place can be counted ahead, and there is no text that makes them more.
    """
    ways, width, before = 1, 0, ""
    for token in _TOKEN.finditer(expression):
        if token["special"]:
            return "it looks around or back"
        if token["many"]:
            return "a repeat has no end"
        if token["repeat"]:
            if before == ")":
                return "a group is repeated"
            low = 0 if token["low"] is None else int(token["low"][:9] or 0)
            high = 1 if token["low"] is None else int((token["high"] or token["low"])[:9] or 0)
            ways *= max(1, high - low + 1)
            width += high
        before = token[0]
        width += 1
        if ways > 10_000 or width > _WIDEST:  # each way costs a step
            return "it can match in too many ways"
    return ""


def _windowed(pattern: re.Pattern[str], text: str, deadline: float) -> Iterator[Span]:
    """Yield all matches, with a look at the clock every few thousand characters."""
    start = 0
    while start < len(text):
        if time.monotonic() > deadline:
            raise Unreadable("Looking for secrets in it takes too long; simplify read.redact.")
        end = start + 4096
        match = pattern.search(text, start, end + _WIDEST)
        if match is None or match.start() >= end:
            start = end
        else:
            yield match.span()
            start = max(match.end(), start + 1)
