"""`python -m pegboard`: the command line."""

from pegboard.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
