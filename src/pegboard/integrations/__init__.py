"""Doors inside agent frameworks, one a file: selected tools go in, each call goes through the gate.

They know the service and the providers, never an adapter or the `Board`; who asks is for the application to say.
Read `door.py` first, then `toolbox.py`, which they share.
"""
