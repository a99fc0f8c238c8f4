"""Where people and programs meet dowse: nothing here decides, everything here asks the engine."""
