"""Labelled tasks on the catalog of the desk, the arms that are compared on them, and a figure of a report."""

__all__ = ["ARMS", "TASKS", "value"]

TASKS = [
    {"task_id": "open", "task": "which orders are still open", "acceptable": [["crm/list_open_orders"]], "as": "sam"},
    {"task_id": "cancel", "task": "cancel the order", "acceptable": [["crm.cancel_order"]], "as": "dana"},
    {"task_id": "weather", "task": "will it rain in Oslo tomorrow", "acceptable": [], "as": "sam"},
]
ARMS = """
[retrieval]
ranking = "fast"
[arms.words]
retrieval = { ranking = "words" }
[arms.one]
selection = { limit = 1 }
[arms.openai]
target = "openai"
"""


def value(report, arm, measure):
    """Return the value of one measure of an arm."""
    return report["arms"][arm]["measures"][measure]["value"]
