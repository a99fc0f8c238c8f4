"""The store that needs nothing but a folder: SQLite, and two replicas next to it."""
