"""One ranking → a better, shorter one. A file per stage: options, rule and what runs it.

Places are indexes into the ranking, best first, from 0.
"""
