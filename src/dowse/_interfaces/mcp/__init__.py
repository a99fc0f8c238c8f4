"""The Model Context Protocol: the same engine for agents, over stdio and streamable HTTP."""
