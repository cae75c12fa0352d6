"""Measure one selection: `python bench/select.py`. What is measured stands in `bench/selection.py`.

Run as files, this folder's scripts see its modules before the standard library's, and one of those is called
`select` too. Imported under that name, this file steps aside for it.
"""

import sys

here = sys.path.pop(0)
if __name__ == "__main__":
    sys.path.insert(0, here.rpartition("/")[0] or "..")
    from bench.selection import main

    main()
else:
    del sys.modules[__name__]
    import select  # noqa: F401

    sys.path.insert(0, here)
