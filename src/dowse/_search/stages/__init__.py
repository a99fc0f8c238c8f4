"""Strategies and stages of a search, a file each: its options, its rule and what runs it."""
