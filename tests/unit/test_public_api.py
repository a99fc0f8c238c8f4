"""`import dowse` offers everything that its methods take, return and raise."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import dowse
from dowse import AsyncDowse, Dowse, DowseError, errors


def _public(owner: type) -> dict[str, Any]:
    members = inspect.getmembers_static(owner)
    methods = {name: getattr(owner, name) for name, _ in members if not name.startswith("_")}
    return {name: method for name, method in methods.items() if callable(method)}


def _classes(annotation: Any) -> Iterator[type]:
    """Every class of dowse in an annotation."""
    if isinstance(annotation, type) and annotation.__module__.startswith("dowse."):
        yield annotation
    parts = typing.get_args(annotation)
    for part in parts:
        yield from _classes(part)
        if isinstance(part, list):  # of a Callable's arguments
            for one in part:
                yield from _classes(one)


def _reachable() -> set[type]:
    """The classes in the annotations of the public methods, and of the fields of their records."""
    todo = [
        annotation
        for method in (Dowse.__init__, *_public(Dowse).values())
        for annotation in typing.get_type_hints(method).values()
    ]
    found: set[type] = set()
    while todo:
        for one in set(_classes(todo.pop())) - found:
            found.add(one)
            if issubclass(one, Struct) or typing.is_typeddict(one):
                todo += typing.get_type_hints(one).values()
    return found


def test_every_type_of_a_public_method_is_exported() -> None:
    reachable = _reachable()
    assert {"Response", "Hit", "IndexReport", "Explanation", "Status", "Embedder", "Event"} <= {
        one.__name__ for one in reachable
    }
    assert {one for one in reachable if getattr(dowse, one.__name__, None) is not one} == set()


def test_every_error_is_exported() -> None:
    tree = [one for _, one in inspect.getmembers(errors, inspect.isclass)]
    for error in tree:
        assert not issubclass(error, DowseError) or getattr(dowse, error.__name__) is error


def test_every_exported_name_exists_and_is_listed() -> None:
    for name in dowse.__all__:
        assert getattr(dowse, name) is not None
    assert set(dowse.__all__) <= set(dir(dowse))


def test_the_asynchronous_class_has_the_same_methods() -> None:
    assert _public(AsyncDowse).keys() == _public(Dowse).keys()
    for name, method in _public(AsyncDowse).items():
        assert name == "open" or inspect.iscoroutinefunction(method), name
        assert inspect.signature(method) == inspect.signature(_public(Dowse)[name]), name


@pytest.mark.parametrize(("line", "code"), [(["--version"], 0), (["no-such-command"], 2)])
def test_the_module_runs_as_the_command_does(line: list[str], code: int) -> None:
    command = str(Path(sys.executable).with_name("dowse"))
    ends = [
        subprocess.run([*start, *line], capture_output=True, check=False)
        for start in ([command], [sys.executable, "-m", "dowse"])
    ]
    assert ends[0].returncode == ends[1].returncode == code
    assert (ends[0].stdout, ends[0].stderr) == (ends[1].stdout, ends[1].stderr)
