"""Selection measured as its own system: labelled tasks, and what is learned from them. Pure.

Start with `fixtures.py`.
"""
