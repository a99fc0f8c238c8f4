"""Ranking → what a person or a model reads."""

from dowse.present.snippet import snippet

__all__ = ["snippet"]
