"""The store that needs nothing but a folder: SQLite, and two replicas beside it."""
