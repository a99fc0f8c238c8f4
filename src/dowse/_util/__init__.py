"""Files, processes, limits and cancellation: what has nothing to do with search."""
