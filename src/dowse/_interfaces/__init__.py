"""What people, agents and programs call: command line, MCP, HTTP and the web page."""
