"""A store on another machine: documents, chunks and vectors live in a distributed engine.

Everything here is the same for every engine; what differs is behind `rows.Rows`, of which each
engine has one implementation. Engines have no transaction over rows, so a document is replaced by
writing its new version, changing the one row that says which version counts, and removing the old
version. A reader drops every hit whose version does not count.
"""
