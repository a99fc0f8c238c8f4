"""Text → vectors: a local model, or an endpoint."""
