"""Care of what is installed and indexed: finding problems and fixing them."""
