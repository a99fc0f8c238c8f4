"""Which settings there are, where their values come from, and which of them need consent."""
