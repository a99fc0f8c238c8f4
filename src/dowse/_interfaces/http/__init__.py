"""The HTTP server: a JSON API, the MCP endpoint and the web page."""
