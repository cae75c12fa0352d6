"""Policy-aware, versioned tool discovery for AI agents with large tool catalogs: the public names."""

from typing import TYPE_CHECKING, Any

from pegboard.core.context import RuntimeContext
from pegboard.core.policy import AccessTemplate

if TYPE_CHECKING:
    from pegboard.board import Board

__all__ = ["AccessTemplate", "Board", "RuntimeContext"]


def __getattr__(name: str) -> Any:
    # The board brings the whole service with it; a program that only names contexts should not wait for that.
    if name == "Board":
        from pegboard.board import Board

        return Board
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
