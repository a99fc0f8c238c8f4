"""Source text → document: frontmatter, headings, blocks, code, links and tags."""
