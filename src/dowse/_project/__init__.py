"""A project: where it is kept, how it is opened, and all that can be done with it."""
