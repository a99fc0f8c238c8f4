"""A small writer of ONNX graphs: constants, operators and the two kinds of matrix product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from dowse._embed.onnx import proto
from dowse._embed.onnx.tensors import Array
from dowse._util.arrays import np
from dowse.errors import EmbedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Precision = Literal["int8", "fp32"]
"""How weights are stored and multiplied: as bytes with scales, or in single precision."""

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's fused operators."""

# Without VNNI, x86 adds two products of a byte (0…255) and a weight in 16 bits and clips the sum.
# At ±64 no sum can reach the limit: 2 · 255 · 64 < 32,768, so every processor counts alike.
_LARGEST_WEIGHT = 64

_OPSET = 18
_IR_VERSION = 9
_LARGEST_GRAPH = (1 << 31) - 1  # bytes, which is all that protobuf can read
_SMALL = 1024  # bytes; larger constants can be in a file of their own
_PAGE = 4096  # bytes; constants in that file begin where pages of memory do


class Graph(Struct, frozen=True):
    """A graph as onnxruntime reads it: in one piece, or with its large constants in a second one.

    The second one is mapped into memory, and of a table only the rows that are used are read.
    """

    nodes: tuple[bytes, ...]
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    constants: Mapping[str, NDArray[Any]]

    def whole(self) -> bytes:
        """The graph with all constants in it."""
        return self._written(proto.tensor(*one) for one in self.constants.items())

    def weights(self) -> bytes:
        """The second piece."""
        content = bytearray()
        for value in self._large().values():
            content += bytes(-len(content) % _PAGE) + proto.raw(value)
        return bytes(content)

    def without_weights(self, file: str) -> bytes:
        """The first piece, which says that the second one is in this file of its folder."""
        written, start, large = [], 0, self._large()
        for name, value in self.constants.items():
            if name in large:
                start += -start % _PAGE
                written.append(proto.outside(name, value, file, start))
                start += value.nbytes
            else:
                written.append(proto.tensor(name, value))
        return self._written(written)

    def _large(self) -> dict[str, NDArray[Any]]:
        return {name: value for name, value in self.constants.items() if value.nbytes > _SMALL}

    def _written(self, constants: Iterable[bytes]) -> bytes:
        graph = proto.graph("dowse", self.nodes, self.inputs, self.outputs, list(constants))
        return proto.model(graph, _IR_VERSION, {"": _OPSET, MICROSOFT: 1})


class GraphWriter:
    """Collects the nodes and constants of a graph; values are known by name."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._nodes: list[bytes] = []
        self._constants: dict[str, NDArray[Any]] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A constant; writing the same name twice keeps the first."""
        if name not in self._constants:
            self._constants[name] = value
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *, domain: str = "", **attributes: Any
    ) -> str:
        """An operator with one output, which it returns."""
        return self.nodes(operator, inputs, 1, domain=domain, **attributes)[0]

    def nodes(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: int,
        *,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """An operator with several outputs, which it returns."""
        names = [f"{operator}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(proto.node(operator, inputs, names, domain, attributes))
        return names

    def linear(self, name: str, value: str, weight: Array, bias: Array) -> str:
        """`value · weightᵀ + bias`, with the weights in the precision of this graph."""
        if self._precision == "fp32":
            product = self.node("MatMul", [value, self.constant(f"{name}.weight", weight.T)])
            return self.node("Add", [product, self.constant(f"{name}.bias", bias)])
        rounded, scales = quantize_rows(weight)
        inputs = [
            value,
            self.constant(f"{name}.weight", rounded.T),
            self.constant(f"{name}.scale", scales),
            "",
            self.constant(f"{name}.bias", bias),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, domain=MICROSOFT)

    def lookup(self, name: str, table: Array, ids: str) -> str:
        """The rows of a table that the ids name; half precision is plenty next to int8 products."""
        if self._precision == "fp32":
            return self.node("Gather", [self.constant(name, table), ids])
        rows = self.node("Gather", [self.constant(name, table.astype(np.float16)), ids])
        return self.node("Cast", [rows], to=proto.FLOAT)

    def finish(self, inputs: Sequence[str], outputs: dict[str, tuple[str, list[Any]]]) -> Graph:
        """The graph; inputs are token numbers, outputs floats.

        Each output has a name for callers, the value it shows and that value's shape.
        """
        shown = [
            proto.node("Identity", [one], [name], "", {}) for name, (one, _) in outputs.items()
        ]
        if sum(value.nbytes for value in self._constants.values()) > _LARGEST_GRAPH:
            raise EmbedError(
                "The model is too large to build: its graph would exceed 2 GB.",
                "Use a smaller model, or embed.precision = int8.",
            )
        return Graph(
            (*self._nodes, *shown),
            tuple(proto.value(name, proto.INT64, ["b", "s"]) for name in inputs),
            tuple(proto.value(name, proto.FLOAT, shape) for name, (_, shape) in outputs.items()),
            self._constants,
        )


def quantize_rows(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """A matrix as small integers, and for each row (output) the factor that undoes it."""
    largest = np.abs(weight).max(axis=1)
    scales = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(_LARGEST_WEIGHT)
    return np.rint(weight / scales[:, None]).astype(np.int8), scales
