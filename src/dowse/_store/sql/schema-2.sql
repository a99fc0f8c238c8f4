-- What format 2 added: a new database gets it after schema.sql, an older one when it is next written.

-- xxh3 over the vector, so that a damaged one is never used again.
ALTER TABLE embeddings ADD COLUMN checksum INTEGER;

-- xxh3 over what a document says and all of its parts, as sums.py lists them.
ALTER TABLE documents ADD COLUMN checksum INTEGER;
