"""The truth: tables of documents, chunks, links, words and vectors."""
