"""What agents can call: a table of tools, and what each does."""
