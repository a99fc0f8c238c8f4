"""How documents are understood, cut and embedded, as numbers that are stamped into every index.

Raise one when what a room makes of the same input changes: older indexes are then refused with the
command that rebuilds them, instead of being mixed with newer parts.
"""

PARSE = 4
CHUNK = 2
ANALYZE = 3
EMBEDDING_TEXT = 2
