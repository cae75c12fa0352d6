"""The shell's verbs: answer a request, refresh a server, judge and forward a call. Async; owns every side effect.

Reaches the outside world only through `ports.py`; imports no adapter. Start with `selector.py`.
"""
