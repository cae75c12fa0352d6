"""Ranking: which of the eligible tools fit a task. Pure; numpy allowed.

Statistics are taken over the eligible tools alone, so that hidden ones move nothing (law 2). Start with `index.py`.
"""
