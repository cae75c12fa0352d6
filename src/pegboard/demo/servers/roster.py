"""All departments by name, and how each is started.

The names are the servers' own names and the modules' names.
"""

import sys

from pegboard.demo.servers import billing, calendar, helpdesk, infrastructure, orders, people, warehouse
from pegboard.demo.servers.tools import Releases

__all__ = ["SERVERS", "command"]

SERVERS: dict[str, Releases] = {
    "orders": orders.RELEASES,
    "billing": billing.RELEASES,
    "helpdesk": helpdesk.RELEASES,
    "calendar": calendar.RELEASES,
    "warehouse": warehouse.RELEASES,
    "people": people.RELEASES,
    "infrastructure": infrastructure.RELEASES,
}


def command(name: str) -> list[str]:
    """Give the command line that starts one department with this interpreter."""
    return [sys.executable, "-m", f"pegboard.demo.servers.{name}"]
