"""Clients that are not ours: each test runs where its client is installed, and is skipped elsewhere."""
