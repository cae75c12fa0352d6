"""The verbs, pure: select, judge a call, take a listing in, replay. Same arguments, same value.

Start with `select.py`: it is the whole design in one function.
"""
