"""Query → rankings: what is asked, and how each strategy ranks the chunks in its own way.

`strategies` is the table. Loading it, as every door does, takes no numpy.
"""
