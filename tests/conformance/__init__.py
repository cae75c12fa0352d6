"""The public conformance suite of MCP against the gateway and its client; run by `make conformance`."""
