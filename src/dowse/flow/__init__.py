"""The two flows of dowse as ordered tables of stages, and the loops that run and trace them.

`INDEX_FLOW` is in `dowse.flow.indexing`, which brings the parsers along; searching needs none.
"""
