"""Hybrid search over a folder of Markdown: on your own machine, offline, explained."""

__version__ = "0.1.0"
