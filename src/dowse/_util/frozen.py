"""`dataclass(frozen=True, slots=True)`, made in a third of the time.

A command loads more than a hundred such classes. The standard library compiles six functions for
each of them, which takes a third of the time that a search by words needs to start. Here only
`__init__` is compiled, and the other methods are closures. In all else these are dataclasses:
`fields`, `replace`, `asdict`, `match` and pickling work, and an assignment raises
`FrozenInstanceError`. All fields are parameters of `__init__` in their order: `init=False`,
`kw_only` and `InitVar` are not known here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """The decorator; a class that can be changed is left to the standard library."""
        return _frozen if frozen and slots else dataclasses.dataclass(frozen=frozen, slots=slots)


__all__ = ["dataclass"]

_set = object.__setattr__


class _LeftOut:
    """What stands in a signature for a default that is made for every instance."""

    def __repr__(self) -> str:
        return "<factory>"


_LEFT_OUT = _LeftOut()


def _frozen(cls: type) -> Any:
    inherits = any(map(dataclasses.is_dataclass, cls.__bases__))  # from a frozen one
    cls.__doc__ = cls.__doc__ or cls.__name__  # or one is made of the signature, which takes long
    made: Any = dataclasses.dataclass(
        init=False, repr=False, eq=False, frozen=inherits, slots=True
    )(cls)
    params = made.__dataclass_params__  # subclasses look at it
    params.init = params.repr = params.eq = params.frozen = True
    for name, method in _methods(dataclasses.fields(made)).items():
        if vars(made).get(name) is None:  # Python has set __hash__ to None where there is an __eq__
            method.__name__, method.__qualname__ = name, f"{made.__qualname__}.{name}"
            setattr(made, name, method)
    made.__init__ = _init(made)
    made.__setattr__ = _refuse_assignment
    made.__delattr__ = _refuse_deletion
    return made


def _methods(fields: tuple[dataclasses.Field[Any], ...]) -> dict[str, Callable[..., Any]]:
    names = tuple(one.name for one in fields)
    said = tuple(one.name for one in fields if one.repr)
    compared = _values(tuple(one.name for one in fields if one.compare))

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    def hashed(self: Any) -> int:
        return hash(compared(self))

    @recursive_repr()
    def shown(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in said)
        return f"{self.__class__.__qualname__}({values})"

    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, values: list[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            _set(self, name, value)

    return {
        "__eq__": equal,
        "__hash__": hashed,
        "__repr__": shown,
        "__getstate__": state,
        "__setstate__": restore,
    }


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these attributes, always as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _init(cls: type) -> Callable[..., None]:
    fields = dataclasses.fields(cls)
    known: dict[str, Any] = {"_set": _set, "_left_out": _LEFT_OUT}
    signature, lines = ["self"], []
    for one in fields:
        name, value = one.name, one.name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = one.default_factory
            signature.append(f"{name}=_left_out")
            value = f"_make_{name}() if {name} is _left_out else {name}"
        elif one.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = one.default
            signature.append(f"{name}=_default_{name}")
        else:
            signature.append(name)
        lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    made: dict[str, Any] = {}
    exec("\n".join([f"def __init__({', '.join(signature)}):", *(lines or [" pass"])]), known, made)  # noqa: S102
    method: Callable[..., None] = made["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {**{one.name: one.type for one in fields}, "return": None}
    return method


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:  # noqa: ARG001
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
