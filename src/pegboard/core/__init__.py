"""The nouns and the law: catalog entries, snapshots, callers, the lock, and the policy decision on them.

Standard library only; no I/O, clock or randomness. Start with `catalog.py`, then `policy.py`.
"""
