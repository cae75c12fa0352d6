"""All departments by name, and how each is started.

The names are the servers' own names and the modules' names.
"""

import sys

from pegboard.demo.servers import (
    billing,
    calendar,
    catalogue,
    helpdesk,
    infrastructure,
    marketing,
    orders,
    people,
    purchasing,
    warehouse,
    workshop,
)
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
    "catalogue": catalogue.RELEASES,
    "marketing": marketing.RELEASES,
    "purchasing": purchasing.RELEASES,
    "workshop": workshop.RELEASES,
}


def command(name: str) -> list[str]:
    """Give the command line that starts one department with this interpreter."""
    return [sys.executable, "-m", f"pegboard.demo.servers.{name}"]
