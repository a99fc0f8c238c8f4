"""Results → an answer: in the documents' own words, or written by a language model."""
