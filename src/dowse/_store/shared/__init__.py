"""One truth in PostgreSQL for many machines, and search indexes that are replicas of it."""
