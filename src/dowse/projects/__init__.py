"""Which projects there are, which one a call means, and what is known of each."""
