"""The parts of the ONNX format that graphs of encoders need, as protobuf writes them.

The package `onnx` would write the same; it takes 23 MB and a third of a second to load. The numbers
are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT, INT8, INT64, FLOAT16 = 1, 3, 7, 10
"""Kinds of numbers, as `TensorProto.DataType` counts them."""

_KINDS = {"float32": FLOAT, "int8": INT8, "int64": INT64, "float16": FLOAT16}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5  # how a value is written
_IS_FLOAT, _IS_INT = 1, 2  # as `AttributeProto.AttributeType` counts them
_OUTSIDE = 1  # as `TensorProto.DataLocation` counts it


def tensor(name: str, value: NDArray[Any]) -> bytes:
    """A constant with its numbers."""
    return _described(name, value) + _bytes(9, raw(value))


def outside(name: str, value: NDArray[Any], file: str, start: int) -> bytes:
    """A constant whose numbers are in another file of the same folder, from this byte on."""
    place = {"location": file, "offset": f"{start}", "length": f"{value.nbytes}"}
    entries = (_text(1, key) + _text(2, said) for key, said in place.items())
    written = b"".join(_bytes(13, entry) for entry in entries)
    return _described(name, value) + written + _number(14, _OUTSIDE)


def raw(value: NDArray[Any]) -> bytes:
    """The numbers of a constant, in the order of C."""
    return value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()


def _described(name: str, value: NDArray[Any]) -> bytes:
    dims = b"".join(_number(1, size) for size in value.shape)
    return dims + _number(2, _KINDS[value.dtype.name]) + _text(8, name)


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    domain: str,
    attributes: Mapping[str, int | float],
) -> bytes:
    """An operator with whole numbers and fractions as its attributes."""
    parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
    parts.append(_text(4, operator))
    parts += [_bytes(5, _attribute(name, attributes[name])) for name in sorted(attributes)]
    return b"".join(parts) + (_text(7, domain) if domain else b"")


def value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    """An input or an output; a size that is known only at run time has a name."""
    sizes = [_text(2, size) if isinstance(size, str) else _number(1, size) for size in shape]
    dims = b"".join(_bytes(1, size) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def graph(
    name: str,
    nodes: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    constants: Sequence[bytes],
) -> bytes:
    """A graph of all these."""
    parts = [_bytes(1, one) for one in nodes] + [_text(2, name)]
    parts += [_bytes(5, one) for one in constants]
    parts += [_bytes(11, one) for one in inputs] + [_bytes(12, one) for one in outputs]
    return b"".join(parts)


def model(content: bytes, version: int, operators: Mapping[str, int]) -> bytes:
    """A model of a graph; `operators` has the version of each domain."""
    domains = (_text(1, domain) + _number(2, number) for domain, number in operators.items())
    return _number(1, version) + _bytes(7, content) + b"".join(_bytes(8, one) for one in domains)


def _attribute(name: str, content: float) -> bytes:
    if isinstance(content, int):
        return _text(1, name) + _number(3, content) + _number(20, _IS_INT)
    as_float = _key(2, _FIXED32) + struct.pack("<f", content)
    return _text(1, name) + as_float + _number(20, _IS_FLOAT)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _number(field: int, content: int) -> bytes:
    return _key(field, _VARINT) + _varint(content & (1 << 64) - 1)  # two's complement


def _text(field: int, content: str) -> bytes:
    return _bytes(field, content.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)
