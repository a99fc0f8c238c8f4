"""Rankings → one ranking, and a score that people can read. A file per stage: options and rule."""
