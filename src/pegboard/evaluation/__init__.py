"""Selection measured as its own system: labelled tasks, what each arm gave for them, and what that is worth. Pure.

Start with `fixtures.py`, then `measures.py`: its table is the whole of what is measured.
"""
