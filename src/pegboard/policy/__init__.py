"""Rules beyond one decision: the attribute table over all access rules of a catalog at once.

Pure; numpy allowed. Read `core/policy.py` first: it is the reference that this room is held equal to.
"""
