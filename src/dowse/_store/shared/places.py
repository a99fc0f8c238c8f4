"""Where shared indexes are."""
