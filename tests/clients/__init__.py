"""Other people's MCP clients against `pegboard serve`, each in an environment of its own; run by `make mcp-clients`."""
