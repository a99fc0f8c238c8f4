"""Configurations of clients as JSON, TOML or YAML: an entry is put in, the rest stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

Form = Literal["json", "toml", "yaml"]
"""How a configuration is written."""

Object = dict[str, Any]
"""What a configuration holds."""

_INDENT = re.compile(r"^\{\s*?\n(?P<indent>[ \t]+)\"")
# Stands for a number in a text, so that it is written again digit by digit.
_NUMBER = re.compile(r'"\\u0000(?P<digits>[-+.0-9eE]+)\\u0000"')


def parsed(text: str, form: Form) -> Object:
    """What a text holds; raises `ValueError` for what could not be written again without loss."""
    whole = _PARSE[form](text) if text.strip() else {}
    if not isinstance(whole, dict):
        raise ValueError("it is not an object")
    return whole


def printed(key: str, name: str, entry: Mapping[str, Any], form: Form) -> str:
    """An entry alone, as it belongs into a configuration."""
    return put("", {key: {name: dict(entry)}}, (key, name), form).rstrip("\n")


def put(text: str, whole: Object, place: tuple[str, str], form: Form) -> str:
    """The text with what `whole` has at a place; raises `ValueError` where that cannot be done."""
    return _PUT[form](text, whole, place)


# ── JSON ─────────────────────────────────────────────────────────────────────


def _json(text: str) -> Any:
    if "\\u0000" in text:
        raise ValueError("it has a NUL character")
    whole = json.loads(text, object_pairs_hook=_once, parse_float=lambda digits: f"\0{digits}\0")
    json.dumps(whole, ensure_ascii=False).encode()
    return whole


def _once(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a name twice")
    return found


def _put_json(text: str, whole: Object, _: tuple[str, str]) -> str:
    indent = _INDENT.match(text)
    written = json.dumps(whole, indent=indent["indent"] if indent else 2, ensure_ascii=False)
    return _NUMBER.sub(lambda match: match["digits"], written) + "\n"


# ── TOML ─────────────────────────────────────────────────────────────────────


def _toml(text: str) -> Any:
    import tomllib  # noqa: PLC0415  most clients need none of it

    return tomllib.loads(text)


def _put_toml(text: str, whole: Object, place: tuple[str, str]) -> str:
    import tomlkit  # noqa: PLC0415  as above

    key, name = place
    document = tomlkit.parse(text)
    if key not in document:
        document[key] = tomlkit.table(is_super_table=True)
    document[key][name] = whole[key][name]
    return _checked(tomlkit.dumps(document), whole, _toml)


# ── YAML ─────────────────────────────────────────────────────────────────────


def _yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415  as above

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _put_yaml(text: str, whole: Object, place: tuple[str, str]) -> str:
    """Changes the lines of one entry: writing all of it again would lose the comments."""
    import yaml  # noqa: PLC0415  as above

    key, name = place
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(rf"{key}:\s*(#.*)?$", line)), None)
    if start is None:
        lines, start = [*lines, f"{key}:"], len(lines)
    below = (
        line for line in lines[start + 1 :] if line.strip() and not line.lstrip().startswith("#")
    )
    indent = re.match(r" *", next(below, ""))[0] or "  "  # type: ignore[index]  # it always matches
    entry = yaml.safe_dump({name: whole[key][name]}, sort_keys=False, allow_unicode=True)
    first, last = _lines_of(lines, start, f"{indent}{name}:", len(indent))
    lines[first:last] = [f"{indent}{line}" for line in entry.splitlines()]
    return _checked("\n".join(lines) + "\n", whole, _yaml)


def _lines_of(lines: list[str], start: int, head: str, indent: int) -> tuple[int, int]:
    """Which lines an entry has now; none of them right below the key where it is new."""
    first = next((n for n in range(start + 1, len(lines)) if lines[n].rstrip() == head), None)
    if first is None:
        return start + 1, start + 1
    last = first + 1
    while last < len(lines) and lines[last].startswith(" " * (indent + 1)):
        last += 1
    return first, last


def _checked(text: str, whole: Object, parse: Any) -> str:
    if parse(text) != whole:
        raise ValueError("the entry cannot be put in without changing something else")
    return text


_PARSE = {"json": _json, "toml": _toml, "yaml": _yaml}
_PUT = {"json": _put_json, "toml": _put_toml, "yaml": _put_yaml}
