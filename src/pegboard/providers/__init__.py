"""Selection <-> each model API's JSON, as plain dictionaries: schemas, names, deltas. No SDK, no I/O.

Read `schemas.py` first: what each API takes of JSON Schema, and what is lost on the way.
"""
