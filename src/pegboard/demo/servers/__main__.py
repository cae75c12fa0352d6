"""Start one department: `python -m pegboard.demo.servers NAME`."""

import sys

from pegboard.demo.servers.roster import SERVERS
from pegboard.demo.servers.serving import serve

__all__: list[str] = []

if __name__ == "__main__":
    names = sys.argv[1:]
    if len(names) != 1 or names[0] not in SERVERS:
        sys.exit(f"usage: python -m pegboard.demo.servers NAME, where NAME is one of {', '.join(SERVERS)}")
    serve(SERVERS[names[0]])
