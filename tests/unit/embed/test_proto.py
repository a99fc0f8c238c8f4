"""What is written of a graph is what the package `onnx` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from dowse._embed.onnx import proto
from dowse._embed.onnx.graph import GraphWriter
from dowse.errors import EmbedError

_ARRAYS: dict[str, NDArray[Any]] = {
    "floats": np.array([[1.5, -2.0, 0.0], [1e-9, 3e8, -0.5]], np.float32),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "bytes": np.array([[-64, 64], [0, 1]], np.int8),
    "halves": np.array([0.1, -2.5], np.float16),
    "places": np.array([-1, 0, 1 << 40], np.int64),
    "one": np.array(7, np.int64),
    "none": np.zeros((0, 3), np.float32),
}


def _expected() -> Any:
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Gather", ["floats", "ids"], ["rows"], axis=-1),
        helper.make_node(
            "MultiHeadAttention", ["rows", "", "é"], ["a", "b"], domain="com.microsoft", num_heads=3
        ),
        helper.make_node("LayerNormalization", ["a"], ["out"], axis=0, epsilon=1e-12),
    ]
    graph = helper.make_graph(
        nodes,
        "dowse",
        [helper.make_tensor_value_info("ids", kinds.INT64, ["b", "s"])],
        [helper.make_tensor_value_info("out", kinds.FLOAT, ["b", 384])],
        [onnx.numpy_helper.from_array(array, name) for name, array in _ARRAYS.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def test_a_model_reads_back_as_the_one_that_onnx_makes() -> None:
    nodes = [
        proto.node("Gather", ["floats", "ids"], ["rows"], "", {"axis": -1}),
        proto.node(
            "MultiHeadAttention", ["rows", "", "é"], ["a", "b"], "com.microsoft", {"num_heads": 3}
        ),
        proto.node("LayerNormalization", ["a"], ["out"], "", {"axis": 0, "epsilon": 1e-12}),
    ]
    graph = proto.graph(
        "dowse",
        nodes,
        [proto.value("ids", proto.INT64, ["b", "s"])],
        [proto.value("out", proto.FLOAT, ["b", 384])],
        [proto.tensor(name, array) for name, array in _ARRAYS.items()],
    )
    written = proto.model(graph, 9, {"": 18, "com.microsoft": 1})
    assert onnx.load_from_string(written) == _expected()


def test_large_constants_can_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    writer = GraphWriter("fp32")
    arrays: dict[str, NDArray[Any]] = {
        "small": np.arange(3, dtype=np.float32),
        "table": np.arange(3000, dtype=np.float32).reshape(3, 1000).T,
        "bytes": np.arange(6000, dtype=np.int8),
    }
    for name, array in arrays.items():
        writer.constant(name, array)
    graph = writer.finish(["ids"], {"out": ("table", ["b"])})
    (tmp_path / "graph.weights").write_bytes(graph.weights())
    (tmp_path / "graph.onnx").write_bytes(graph.without_weights("graph.weights"))
    for read in (onnx.load(tmp_path / "graph.onnx"), onnx.load_from_string(graph.whole())):
        for one in read.graph.initializer:
            assert np.array_equal(onnx.numpy_helper.to_array(one), arrays[one.name])
    assert len(graph.without_weights("graph.weights")) < 1000


def test_a_graph_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse._embed.onnx.graph._LARGEST_GRAPH", 100)
    writer = GraphWriter("fp32")
    table = writer.constant("table", np.zeros(50, np.float32))
    with pytest.raises(EmbedError, match="exceed 2 GB"):
        writer.finish(["ids"], {"out": (table, ["b"])})
