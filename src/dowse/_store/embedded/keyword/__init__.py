"""The replica that finds words: tantivy."""
