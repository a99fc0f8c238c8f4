"""What a query asks for: words, operators, filters and dates."""
