"""Everything that dowse raises on purpose.

    DowseError
    ├── UsageError            the call cannot mean anything: fix the call
    │   ├── Malformed         an argument has no such name, type or value
    │   ├── NotFound          no such project, document, section or chunk
    │   └── BadSettings       a setting has no such name, type or value
    ├── Refused               dowse will not do this without the user's consent
    ├── IndexUnusable         the index cannot serve as it is
    │   ├── StampMismatch     it was built with other settings, model or version
    │   ├── Damaged           a file of it is truncated, changed or missing
    │   ├── Locked            another process is writing
    │   └── EngineFailed      the engine that keeps it refused or did not answer
    └── EmbedError            no vectors can be made
        ├── WeightsMissing    the model's weights are not here and cannot be fetched
        └── EndpointFailed    the embedding endpoint refused or did not answer

A message says what happened; `hint` says what to do next, as a command where there is one.
"""

from __future__ import annotations

from dowse._util.messages import hide_secrets


class DowseError(Exception):
    """Something went wrong that the user can understand and fix.

    Its message never shows the secrets of an address, whatever it is made of.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = hide_secrets(message)
        self.hint = hide_secrets(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(DowseError):
    """The call cannot mean anything."""

    exit_code = 2


class Malformed(UsageError):
    """An argument is wrong in itself, whatever the documents are."""


class NotFound(UsageError):
    """There is no such project, document, section or chunk."""


class BadSettings(UsageError):
    """A setting has no such name, type or value."""


class Refused(DowseError):
    """dowse will not do this without the user's consent."""

    exit_code = 2


class IndexUnusable(DowseError):
    """The index cannot serve as it is."""

    exit_code = 4


class StampMismatch(IndexUnusable):
    """The index was built with other settings, another model or another version."""


class Damaged(IndexUnusable):
    """A file of the index is truncated, changed or missing."""


class Locked(IndexUnusable):
    """Another process is writing to the index."""

    exit_code = 5


class EngineFailed(IndexUnusable):
    """The engine that keeps the index refused or did not answer."""


class EmbedError(DowseError):
    """No vectors can be made."""


class WeightsMissing(EmbedError):
    """The model's weights are not here and cannot be fetched."""


class EndpointFailed(EmbedError):
    """The embedding endpoint refused or did not answer."""
