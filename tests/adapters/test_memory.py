"""What is in memory alone; the stores' contract is in `test_stores.py`."""

from pegboard.adapters.memory import MemoryLockFile
from pegboard.core.catalog import declare
from pegboard.core.lock import Lock
from tests.strategies import lock_line

LOCK = Lock.of([lock_line(declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list"))])


def test_a_lock_in_memory_is_what_was_written_last_and_its_stamp_moves_with_it() -> None:
    lock_file = MemoryLockFile()
    assert lock_file.read() == Lock.of()
    before = lock_file.stamp()
    lock_file.write(LOCK)
    assert lock_file.read() == LOCK
    assert lock_file.stamp() != before
    lock_file.write(Lock.of())
    assert lock_file.stamp() == before
