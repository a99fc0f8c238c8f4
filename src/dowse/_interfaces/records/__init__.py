"""Answers as JSON: the same records at every door."""
