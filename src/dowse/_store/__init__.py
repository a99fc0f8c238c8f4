"""What is kept: the index, in one of several engines behind one port."""
