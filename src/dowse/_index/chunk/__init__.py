"""Document → sections and chunks."""
