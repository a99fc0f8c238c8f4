"""The dataclasses of dowse behave as those of the standard library."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from dowse._util.frozen import dataclass as quick


def _made(dataclass: Callable[..., Any]) -> Any:
    @dataclass(frozen=True, slots=True)
    class Note:
        """A note."""

        title: str
        lines: list[str] = field(default_factory=list)
        hidden: int = field(default=0, repr=False)
        seen: int = field(default=0, compare=False)
        name: str = "none"

        def __post_init__(self) -> None:
            if not self.title:
                raise ValueError("no title")

    return Note


@quick(frozen=True, slots=True)
class Single:
    """One field, at the top of a module, so that it can be pickled."""

    value: float


@quick(frozen=True, slots=True)
class Empty:
    """No field."""


@quick(frozen=True, slots=True)
class Own:  # noqa: PLW1641  (the decorator adds it)
    """Has methods of its own."""

    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __repr__(self) -> str:
        return "own"


@quick(frozen=True, slots=True)
class More(Single):
    """A subclass."""

    unit: str = "m"


Usual, Quick = _made(dataclasses.dataclass), _made(quick)


@pytest.mark.parametrize(
    "see",
    [
        repr,
        str,
        dataclasses.asdict,
        dataclasses.astuple,
        lambda one: dataclasses.replace(one, name="other").name,
        lambda one: dataclasses.replace(one, name="other") == one,
        lambda one: dataclasses.replace(one, seen=7) == one,
        lambda one: one == "another class",
        lambda one: [each.name for each in dataclasses.fields(one)],
        lambda one: str(inspect.signature(type(one))),
        lambda one: type(one).__match_args__,
        lambda one: type(one).__slots__,
        lambda one: type(one).__init__.__qualname__.rpartition(".")[2],
        lambda one: one.__getstate__(),
        lambda one: hasattr(one, "__dict__"),
        lambda one: type(one).__dataclass_params__.frozen,
    ],
)
def test_a_class_is_what_the_standard_library_makes(see: Callable[[Any], object]) -> None:
    usual, quick_one = Usual("a", hidden=3), Quick("a", hidden=3)
    assert see(quick_one) == see(usual)


@pytest.mark.parametrize("kind", [Usual, Quick])
def test_what_cannot_be_done_is_refused(kind: Any) -> None:
    note = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'title'"):
        note.title = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'title'"):
        del note.title
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'title'"):
        kind()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        kind("a", other=1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(note)
    with pytest.raises(ValueError, match="no title"):
        kind("")


def test_every_instance_has_defaults_of_its_own() -> None:
    assert Quick("a").lines is not Quick("a").lines


def test_equal_ones_have_the_same_hash() -> None:
    assert hash(Single(1.5)) == hash(Single(1.5)) == hash((1.5,))
    assert {Single(1.0), Single(1.0), Single(2.0)} == {Single(1.0), Single(2.0)}
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())


def test_own_methods_are_kept() -> None:
    assert Own(1) == Own(2)
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == hash((1,))


def test_it_can_be_pickled_and_inherited() -> None:
    assert pickle.loads(pickle.dumps(Single(2.5))) == Single(2.5)  # noqa: S301  (our own)
    assert pickle.loads(pickle.dumps(More(2.5, "s"))) == More(2.5, "s")  # noqa: S301
    assert repr(More(1.0)) == "More(value=1.0, unit='m')"
    assert More(1.0) != Single(1.0)


def test_a_class_that_can_be_changed_is_left_to_the_standard_library() -> None:
    @quick(slots=True)
    class Count:
        number: int = 0

    count = Count()
    count.number = 2
    assert count == Count(2)


def test_a_value_that_has_itself_can_be_shown() -> None:
    inner: list[Any] = []
    one = Single(inner)  # type: ignore[arg-type]
    inner.append(one)
    assert repr(one) == "Single(value=[...])"
