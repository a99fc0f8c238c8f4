"""What a tool takes: checked by hand, so that a wrong call is told how to become a right one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dowse.errors import UsageError

Kind = Literal["string", "strings", "integer", "number", "boolean"]
"""What a value may be; "strings" is a list of them."""

Arguments = Mapping[str, Any]
"""What a call gives, checked."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "strings": (list,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_SAID = {
    "string": "a text",
    "strings": 'a list of texts, as ["a", "b"]',
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    kind: Kind
    meaning: str
    required: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None  # the least it may be, or a list may hold
    high: float | None = None  # the most
    means: str = ""  # the parameter that it is another name of

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, of one type always."""
        schema: dict[str, Any] = {"type": "array" if self.kind == "strings" else self.kind}
        if self.kind == "strings":
            schema["items"] = {"type": "string"}
        if self.choices:
            schema["enum"] = list(self.choices)
        least, most = ("minItems", "maxItems") if self.kind == "strings" else ("minimum", "maximum")
        if self.low is not None:
            schema[least] = self.low
        if self.high is not None:
            schema[most] = self.high
        return schema | ({"description": self.meaning} if self.meaning else {})

    def check(self, value: object) -> object:
        """The value; raises `UsageError` when it cannot be meant."""
        if not self._fits(value):
            given = json.dumps(value, ensure_ascii=False)[:60]
            raise UsageError(f"{self.name} is {given}.", f"It must be {_SAID[self.kind]}.")
        if self.choices and value not in self.choices:
            raise UsageError(
                f"{self.name} cannot be {value!r}.", f"Use one of: {', '.join(self.choices)}."
            )
        self._check_range(value)
        return self._without_halves(value)

    def _fits(self, value: object) -> bool:
        if isinstance(value, bool) and self.kind != "boolean":
            return False
        if isinstance(value, list):
            return self.kind == "strings" and all(isinstance(one, str) for one in value)
        return isinstance(value, _TYPES[self.kind])

    def _check_range(self, value: object) -> None:
        amount = len(value) if isinstance(value, list) else value
        if not isinstance(amount, (int, float)):
            if self.required and isinstance(value, str) and not value.strip():
                raise UsageError(f"{self.name} is empty.", self.meaning)
            return
        of = "The length of " if isinstance(value, list) else ""
        if self.low is not None and not amount >= self.low:
            raise UsageError(f"{of}{self.name} is {amount}.", f"It must be at least {self.low:g}.")
        if self.high is not None and not amount <= self.high:
            raise UsageError(f"{of}{self.name} is {amount}.", f"It may be {self.high:g} at most.")

    def _without_halves(self, value: object) -> object:
        """JSON can name halves of characters, which no text may hold."""
        if isinstance(value, str):
            return value.encode("utf-8", "replace").decode()
        if isinstance(value, list):
            return [self._without_halves(one) for one in value]
        return value


def input_schema(parameters: Sequence[Parameter], *, explained: bool = True) -> dict[str, Any]:
    """The JSON Schema of a tool's input; what is explained elsewhere can be listed briefly."""
    required = [one.name for one in parameters if one.required]
    shown = parameters if explained else [replace(one, meaning="") for one in parameters]
    return {
        "type": "object",
        "properties": {one.name: one.schema for one in shown},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def check_arguments(parameters: Sequence[Parameter], given: Arguments) -> Arguments:
    """The arguments of a call that were said; raises `UsageError` that says how to fix it."""
    known = {one.name: one for one in parameters}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"There is no parameter {name!r}.", f"{meant}Known are: {', '.join(known)}."
            )
    # Many clients send null for what they leave out.
    said = {name: value for name, value in given.items() if value is not None}
    for one in parameters:
        if one.required and one.name not in said:
            raise UsageError(f"{one.name} is missing.", one.meaning)
    for name in said:
        if known[name].means in said:
            raise UsageError(f"{name} is another name of {known[name].means}.", "Use one.")
    return {known[name].means or name: known[name].check(value) for name, value in said.items()}
