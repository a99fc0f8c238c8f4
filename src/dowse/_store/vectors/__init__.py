"""The replica that finds vectors: segments, scanned flat."""
