"""A store in memory: the port in its plainest form.

Nothing is clever here: every generation is a copy, links are all resolved again, scores are
computed term by term. That makes it the independent witness for the embedded store.
"""

from memory_store.store import MemoryStore

__all__ = ["MemoryStore"]
