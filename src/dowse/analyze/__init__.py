"""Text → the terms that the keyword index holds, and what is computed over the whole index."""
