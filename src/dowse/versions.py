"""How documents are understood and cut, as numbers that are stamped into every index.

Raise one when what a room makes of the same input changes: older indexes are then refused with the
command that rebuilds them, instead of being mixed with newer parts. A better place for a cut needs
no new number: every chunk is stored with its own text, so old and new ones are searched together.
"""

PARSE = 2
CHUNK = 1
ANALYZE = 3
