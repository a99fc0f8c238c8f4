-- The truth of an index. Everything else (keyword and vector replicas) can be rebuilt from here.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE documents (
  key      INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  short    TEXT NOT NULL,     -- 8 hex digits, for people to type
  size     INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  digest   TEXT NOT NULL,
  settled  INTEGER NOT NULL,
  modified REAL NOT NULL,     -- what the frontmatter says, else the file's time
  fields   TEXT NOT NULL,     -- JSON of types.Fields
  body     INTEGER NOT NULL,
  text     TEXT NOT NULL
);
CREATE INDEX documents_short ON documents(short);
CREATE INDEX documents_modified ON documents(modified);

CREATE TABLE sections (
  key         INTEGER PRIMARY KEY,
  document    INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  id          TEXT NOT NULL,
  header_path TEXT NOT NULL,  -- JSON
  start       INTEGER NOT NULL,
  "end"       INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  last_line   INTEGER NOT NULL
);
CREATE INDEX sections_document ON sections(document);
CREATE INDEX sections_id ON sections(id);

CREATE TABLE chunks (
  key         INTEGER PRIMARY KEY AUTOINCREMENT,  -- replicas rely on a key never coming back
  document    INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  id          TEXT NOT NULL,
  section     TEXT NOT NULL,
  header_path TEXT NOT NULL,  -- JSON
  start       INTEGER NOT NULL,
  "end"       INTEGER NOT NULL,
  overlap     INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  last_line   INTEGER NOT NULL,
  text_key    BLOB NOT NULL   -- names its vector in embeddings
);
CREATE INDEX chunks_document ON chunks(document);
CREATE INDEX chunks_id ON chunks(id);
CREATE INDEX chunks_text_key ON chunks(text_key);

CREATE TABLE code_blocks (
  document   INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  chunk      INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
  language   TEXT NOT NULL,   -- folded
  text       TEXT NOT NULL,
  start      INTEGER NOT NULL,
  "end"      INTEGER NOT NULL,
  first_line INTEGER NOT NULL,
  last_line  INTEGER NOT NULL
);
CREATE INDEX code_blocks_document ON code_blocks(document);
CREATE INDEX code_blocks_chunk ON code_blocks(chunk);
CREATE INDEX code_blocks_language ON code_blocks(language, chunk);

-- What conditions compare of a document, folded. A tag is listed with all the tags above it.
CREATE TABLE facets (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  kind     TEXT NOT NULL,
  value    TEXT NOT NULL
);
CREATE INDEX facets_document ON facets(document);
CREATE INDEX facets_value ON facets(kind, value, document);

CREATE TABLE links (
  key    INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  kind   TEXT NOT NULL,
  target TEXT NOT NULL,
  anchor TEXT NOT NULL,
  label  TEXT NOT NULL,
  line   INTEGER NOT NULL,
  leads  INTEGER REFERENCES documents ON DELETE SET NULL
);
CREATE INDEX links_source ON links(source);
CREATE INDEX links_leads ON links(leads);

-- The names under which the target of a link is looked up.
CREATE TABLE link_names (
  link INTEGER NOT NULL REFERENCES links ON DELETE CASCADE,
  name TEXT NOT NULL
);
CREATE INDEX link_names_link ON link_names(link);
CREATE INDEX link_names_name ON link_names(name);

-- A `related` entry of the frontmatter is a link only while its document exists.
CREATE VIEW edges AS SELECT * FROM links WHERE leads IS NOT NULL OR kind != 'related';

-- What links can call a document: its file name, its folder's name for an index page, its aliases.
CREATE TABLE names (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  name     TEXT NOT NULL,
  kind     TEXT NOT NULL,
  spelled  TEXT NOT NULL
);
CREATE INDEX names_document ON names(document);
CREATE INDEX names_name ON names(name);

-- Vectors by content: of chunks and of vocabulary words alike, kept when a text goes and comes back.
CREATE TABLE embeddings (
  model    TEXT NOT NULL,
  text_key BLOB NOT NULL,
  vector   BLOB NOT NULL,     -- half floats, little endian
  UNIQUE (model, text_key)
);

CREATE TABLE terms (
  term  TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX terms_count ON terms(count DESC, term);

CREATE TABLE communities (
  document  INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  community INTEGER NOT NULL
);

-- What each batch changed, until every replica has taken it.
CREATE TABLE journal (
  generation INTEGER NOT NULL,
  chunk      INTEGER NOT NULL,
  terms      INTEGER NOT NULL  -- 0 when only its vector has changed
);
CREATE INDEX journal_generation ON journal(generation);
