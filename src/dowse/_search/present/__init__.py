"""Ranking → what a person or a model reads."""
