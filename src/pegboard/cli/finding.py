"""One finding of `doctor`, and the three ways to make one."""

from dataclasses import dataclass

from pegboard.cli.errors import DONE, failure_of
from pegboard.core.errors import PegboardError
from pegboard.core.names import Json

__all__ = ["Finding", "ok", "problem", "remark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found. `level` is ok, note or problem; of a problem, `status` is what it would exit with."""

    check: str
    level: str
    message: str
    where: str | None = None
    fix: str | None = None
    status: int = DONE

    def to_json(self) -> dict[str, Json]:
        """Return one element of `findings`."""
        return {
            "check": self.check,
            "level": self.level,
            "message": self.message,
            "where": self.where,
            "fix": self.fix,
        }


def ok(check: str, message: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(check=check, level="ok", message=message)


def remark(check: str, message: str, where: str | None = None, fix: str | None = None) -> Finding:
    """Say what an operator should know and nothing is wrong with."""
    return Finding(check=check, level="note", message=message, where=where, fix=fix)


def problem(check: str, error: PegboardError) -> Finding:
    """Say what is wrong."""
    failure = failure_of(error)
    return Finding(
        check=check,
        level="problem",
        message=failure.message,
        where=failure.where,
        fix=failure.fix,
        status=failure.status,
    )
