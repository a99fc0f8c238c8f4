-- What format 3 added to format 1: a new database gets it last, an older one when it is next written.

-- xxh3 over the vector, so that a damaged one is never used again.
ALTER TABLE embeddings ADD COLUMN checksum INTEGER;

-- xxh3 over what a document says and all of its parts, as sums.py lists them.
ALTER TABLE documents ADD COLUMN checksum INTEGER;

-- What a chunk is called: the headings in it. Title and aliases of a document name its first.
CREATE TABLE chunk_names (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  chunk    INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
  kind     TEXT NOT NULL,
  folded   TEXT NOT NULL,
  path     TEXT NOT NULL,  -- JSON: the headings above, then the name itself
  start    INTEGER NOT NULL,
  line     INTEGER NOT NULL
);
CREATE INDEX chunk_names_document ON chunk_names(document);
CREATE INDEX chunk_names_chunk ON chunk_names(chunk);
CREATE INDEX chunk_names_folded ON chunk_names(folded);
