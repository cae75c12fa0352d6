"""The demo company's MCP servers: eleven departments of Brackenfold, a maker and seller of outdoor gear.

Here live real servers over stdio with their own small memory. Nothing here may know Pegboard: these stand for servers
that others wrote.
Read first: `orders.py` for what a department looks like, then `serving.py`.
"""
