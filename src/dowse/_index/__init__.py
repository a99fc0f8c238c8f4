"""Folder → index: which files there are, what they say, where they are cut, what is stored."""
