"""Walk a server's whole listing, and walk it again where it changed on the way.

Pages promise nothing of each other: a list that changes between two of them can lose a tool or give one twice. A
listing of one page cannot, so it is taken; what changed since is for the refresh that its notice starts.

Source: MCP 2026-07-28, "Pagination": who needs a consistent list fetches it again from the beginning.
"""

from collections.abc import Callable

from pegboard.core.errors import MalformedPageError
from pegboard.engine.refresh import Refresh
from pegboard.service.ports import ToolServer

__all__ = ["walked"]

# A list that changes during each of so many walks stays as it was served.
WALKS = 3


async def walked(name: str, server: ToolServer, begin: Callable[[], Refresh]) -> Refresh:
    """Return a refresh that has received every page of a listing that did not change meanwhile.

    Raises:
        UpstreamError: A page did not come, the listing broke a bound, or it changed during each walk.
    """
    for _ in range(WALKS):
        refresh, changes, pages = begin(), server.changes, 0
        while not refresh.done:
            refresh.receive(await server.list_page(refresh.next_cursor()))
            pages += 1
        if pages == 1 or server.changes == changes:
            return refresh
    raise MalformedPageError(name, f"its list changed during each of {WALKS} walks")
