"""Our demo company, Brackenfold: its MCP servers, and the guided run behind `make demo`.

The servers know nothing of Pegboard. Start with `tour.py`.
"""
