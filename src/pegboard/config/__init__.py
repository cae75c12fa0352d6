"""Configuration: pegboard.toml and `mcpServers` files, read strictly into one `Config`.

Start with `load.py` for the verb, `sections.py` for every key that there is. Nothing here opens a server or a store.
"""
