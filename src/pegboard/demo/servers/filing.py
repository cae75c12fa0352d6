"""What a tool does to records, in the few ways that most tools do it: each word gives the function behind a tool.

Source: the records of `company.py`; a department that does more writes its own function.
"""

from collections.abc import Callable

from pegboard.demo.servers.company import Company, RefusedError, Row, Table, add, among, pick

__all__ = ["Run", "adds", "lists", "mails", "moves", "notes", "reads", "sets"]

Run = Callable[[Company, Row], str | Row]


def _table(company: Company, name: str) -> Table:
    found: Table = getattr(company, name)
    return found


def reads(table: str, key: str, what: str) -> Run:
    """Give one record."""
    return lambda company, asked: pick(_table(company, table), asked[key], what)


def lists(table: str, *fields: str) -> Run:
    """Give the records that equal what was asked in *fields*."""
    return lambda company, asked: {table: among(_table(company, table).values(), asked, *fields)}


def adds(table: str, **facts: object) -> Run:
    """Make a record of what was given, and *facts* beside it."""
    return lambda company, asked: add(_table(company, table), **{**facts, **asked})


def sets(table: str, key: str, what: str) -> Run:
    """Write what was given into a record, and give it."""

    def run(company: Company, asked: Row) -> Row:
        row = pick(_table(company, table), asked[key], what)
        row.update({name: value for name, value in asked.items() if name != key})
        return row

    return run


def moves(table: str, key: str, what: str, *before: str, to: str) -> Run:
    """Bring a record from one of the states *before* to another; what else was given is noted in it."""

    def run(company: Company, asked: Row) -> str:
        row = pick(_table(company, table), asked[key], what)
        if row["state"] not in before:
            allowed = " or ".join(before)
            raise RefusedError(f"{what.capitalize()} {row['id']} is {row['state']}; only {allowed} ones can be {to}.")
        row.update({name: value for name, value in asked.items() if name != key}, state=to)
        return f"{what.capitalize()} {row['id']} is {to}."

    return run


def notes(table: str, key: str, what: str, field: str, value: str) -> Run:
    """Add what was given under *value* to a list in a record."""

    def run(company: Company, asked: Row) -> str:
        row = pick(_table(company, table), asked[key], what)
        row[field] = [*row.get(field, []), asked[value]]
        return f"{what.capitalize()} {row['id']} has {len(row[field])} {field}."

    return run


def mails(table: str, key: str, what: str, subject: str) -> Run:
    """Send mail about a record to whom it concerns."""

    def run(company: Company, asked: Row) -> str:
        row = pick(_table(company, table), asked[key], what)
        company.outbox.append({"about": row["id"], "subject": subject, "text": asked.get("message", "")})
        return f"Mail about {what} {row['id']} is sent: {subject}."

    return run
