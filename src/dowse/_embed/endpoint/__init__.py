"""Models behind an HTTP endpoint."""
