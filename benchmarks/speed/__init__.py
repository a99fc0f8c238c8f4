"""How fast dowse is: next to its peers, and as an index grows. `make bench` runs all of it."""
