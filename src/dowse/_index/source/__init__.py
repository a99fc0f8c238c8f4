"""From a path to what its files say: which files belong, what their text is, when they change."""
