"""What goes beside a call: known to the task that makes it, and in no context, proposed call or answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

__all__ = ["Beside"]

_Value = TypeVar("_Value")


class Beside(Generic[_Value]):
    """One such thing; nothing, where nobody said it."""

    def __init__(self, name: str) -> None:
        self._variable: ContextVar[_Value | None] = ContextVar(name, default=None)

    @contextmanager
    def said(self, value: _Value) -> Iterator[None]:
        """Have calls in the body, by this task, made beside *value*."""
        token = self._variable.set(value)
        try:
            yield
        finally:
            self._variable.reset(token)

    def now(self) -> _Value | None:
        """Return what this task's calls are made beside."""
        return self._variable.get()
