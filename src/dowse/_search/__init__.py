"""Query → results: understand, retrieve, fuse, refine, present and explain."""
