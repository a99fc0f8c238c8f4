"""The warm socket: a running server runs the command lines of other processes."""
