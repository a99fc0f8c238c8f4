"""A graph, running: onnxruntime on one core per call, callable from many threads at once.

Every call computes one text alone. On a CPU that is as fast as padded batches, and a text's vector
is then the same to the bit whatever else is embedded with it, in whatever order, on however many
threads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dowse._util.arrays import np
from dowse.errors import EmbedError

_QUIET = 4  # fatal errors only: others are raised, and nobody asked for warnings about devices


class Session:
    """A loaded graph; the weights next to a file are mapped into memory, not copied."""

    def __init__(self, graph: Path | bytes) -> None:
        import onnxruntime  # noqa: PLC0415  (slow to import, and not every command embeds)

        # A program may have loaded it before dowse, too late for the environment.
        if os.environ.get("ORT_DISABLE_TELEMETRY") == "1":
            onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        # The graph is written with fused operators already: there is nothing to look for.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its errors share no other base
            raise EmbedError(
                f"onnxruntime {onnxruntime.__version__} cannot load the model: {error}.",
                "Reinstall dowse with its dependencies, or use embed.precision = fp32.",
            ) from error

    def run(self, output: str, inputs: Mapping[str, Sequence[int]]) -> Any:
        """One output for one text, given as token numbers by input name."""
        feed = {name: np.array([ids], dtype=np.int64) for name, ids in inputs.items()}
        try:
            return self._session.run([output], feed)[0][0]
        except Exception as error:  # as above: a token that the table of words does not have
            raise EmbedError(
                f"The model cannot read a text: {error}.",
                "Its tokenizer.json, config.json and weights do not belong together: fetch them "
                "again, or choose another model.",
            ) from error
