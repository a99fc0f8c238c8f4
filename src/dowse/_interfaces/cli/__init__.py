"""The command line: one file per command, and the helpers that draw."""
