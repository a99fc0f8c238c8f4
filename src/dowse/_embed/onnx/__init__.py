"""Models that run on this machine: graphs built from weights, run by onnxruntime."""
