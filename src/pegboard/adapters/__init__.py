"""The outside world, one thing a file, each behind a port of `service/ports.py`.

An adapter lets only the port's errors out.
"""
