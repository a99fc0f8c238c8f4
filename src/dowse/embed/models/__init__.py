"""Model files: which are known, where they come from, where they are kept."""
