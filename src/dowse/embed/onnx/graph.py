"""A small writer of ONNX graphs: constants, operators and the two kinds of matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from dowse.arrays import np
from dowse.embed.onnx.tensors import Array
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


class GraphWriter:
    """Collects the nodes and constants of a graph; values are known by name."""

    def __init__(self, precision: Precision) -> None:
        import onnx  # noqa: PLC0415  (a third of a second, and only building needs it)

        self._onnx = onnx
        self._precision = precision
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A constant; writing the same name twice keeps the first."""
        if name not in self._constants:
            tensor = self._onnx.numpy_helper.from_array(np.asarray(value, order="C"), name)
            self._constants[name] = tensor
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
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, inputs, names, domain=domain, **attributes))
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
        return self.node("Cast", [rows], to=self._onnx.TensorProto.FLOAT)

    def finish(self, inputs: Sequence[str], outputs: dict[str, tuple[str, list[Any]]]) -> bytes:
        """The graph as onnxruntime reads it; inputs are token numbers, outputs floats.

        Each output has a name for callers, the value it shows and that value's shape.
        """
        helper, types = self._onnx.helper, self._onnx.TensorProto
        for name, (value, _) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value], [name]))
        graph = helper.make_graph(
            self._nodes,
            "dowse",
            [helper.make_tensor_value_info(name, types.INT64, ["b", "s"]) for name in inputs],
            [
                helper.make_tensor_value_info(name, types.FLOAT, shape)
                for name, (_, shape) in outputs.items()
            ],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        try:
            content: bytes = model.SerializeToString()
        except Exception as error:  # protobuf's own error type differs between its versions
            raise EmbedError(
                "The model is too large to build: its graph would exceed 2 GB.",
                "Use a smaller model, or embed.precision = int8.",
            ) from error
        return content


def quantize_rows(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """A matrix as small integers, and for each row (output) the factor that undoes it."""
    largest = np.abs(weight).max(axis=1)
    scales = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(_LARGEST_WEIGHT)
    return np.rint(weight / scales[:, None]).astype(np.int8), scales
