"""What is measured, one command each. Run from the root of the checkout: `python -m bench.retrieval`."""
