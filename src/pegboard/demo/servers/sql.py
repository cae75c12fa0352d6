"""The company's records as an SQL database in memory, for one generic tool that runs any statement.

It starts from the records as they are at its first statement; what statements change stays changed until the process
ends. It touches no file: attaching another database, and so also `VACUUM INTO`, is refused, as are pragmas.

Source: SQLite, sqlite3_set_authorizer and sqlite3_progress_handler.
"""

import json
import sqlite3

from pegboard.demo.servers.company import Company, RefusedError, Row, Table

__all__ = ["QUERYABLE", "run_sql"]

QUERYABLE = ("customers", "orders", "payments", "invoices", "refunds", "items", "stock", "people", "shipments")

# Far above any sensible statement on some dozen rows: steps of the engine and how often they are asked after, bytes of
# one value, and pages of 4 KiB of the whole database. One call can eat neither the processor nor the memory.
_STEPS, _STEPS_ASKED = 200_000, 1_000
_BYTES = 10_000
_PAGES = 2_500
_REFUSED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA})


def run_sql(company: Company, statement: str, limit: int) -> Row:
    """Run one statement and give its columns and at most *limit* rows.

    Raises:
        RefusedError: SQLite refuses the statement, or it runs for too long.
    """
    database = company.reporting
    steps = iter(range(_STEPS // _STEPS_ASKED))
    try:
        if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _fill_all(database, company)
        database.set_progress_handler(lambda: next(steps, None) is None, _STEPS_ASKED)
        cursor = database.execute(statement)
        columns = [column[0] for column in cursor.description or ()]
        rows = [[_shown(value) for value in row] for row in cursor.fetchmany(limit)]
        cursor.close()
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise RefusedError(f"The database refused the statement: {error}") from error
    finally:
        database.set_progress_handler(None, 0)
    return {"columns": columns, "rows": rows}


def _fill_all(database: sqlite3.Connection, company: Company) -> None:
    database.execute(f"PRAGMA max_page_count = {_PAGES}")
    for name in QUERYABLE:
        _fill(database, name, getattr(company, name))
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _BYTES)
    database.set_authorizer(_authorize)


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_DENY if action in _REFUSED else sqlite3.SQLITE_OK


def _fill(database: sqlite3.Connection, name: str, table: Table) -> None:
    columns = list(next(iter(table.values())))
    database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    rows = [[_cell(row.get(column)) for column in columns] for row in table.values()]
    database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _shown(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
