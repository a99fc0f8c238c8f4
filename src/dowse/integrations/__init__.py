"""dowse as a part of other people's frameworks; each adapter needs the extra of its name."""
