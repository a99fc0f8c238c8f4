"""Projects as files and from store to store: an index moves with its vectors, without a model."""
