"""Shapes: does a plain dictionary fit an SDK's types? Unknown keys are refused, which the SDKs themselves do not do."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

__all__ = ["misfit"]


def misfit(value: Any, hint: Any, path: str = "") -> str | None:
    """Say where *value* does not fit the type, or None where it does."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in {Any, object}:
        return None
    if origin in {Required, NotRequired, Annotated}:
        return misfit(value, arguments[0], path)
    if origin in {Union, UnionType}:
        problems = [misfit(value, one, path) for one in arguments]
        return None if None in problems else max(filter(None, problems), key=len)
    if origin is Literal:
        return None if value in arguments else f"{path}: {value!r} is none of {arguments}"
    # `typing.is_typeddict` does not know those of typing_extensions.
    if hasattr(hint, "__required_keys__"):
        return _fields(value, hint, path)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return f"{path}: no object"
        return next(filter(None, (misfit(one, arguments[1], f"{path}/{key}") for key, one in value.items())), None)
    if (origin is not None and issubclass(origin, Iterable)) or getattr(hint, "__name__", "") == "SequenceNotStr":
        if isinstance(value, str) or not isinstance(value, Sequence):
            return f"{path}: no list"
        inner = arguments[0] if arguments else Any
        return next(filter(None, (misfit(one, inner, f"{path}/{place}") for place, one in enumerate(value))), None)
    kinds: tuple[Any, ...] = (int, float) if hint is float else (NoneType if hint is None else hint,)
    return None if isinstance(value, kinds) and not (hint is int and isinstance(value, bool)) else f"{path}: no {hint}"


def _fields(value: Any, hint: Any, path: str) -> str | None:
    if not isinstance(value, Mapping):
        return f"{path}: no {hint.__name__}"
    fields = _hints(hint)
    if unknown := value.keys() - fields.keys():
        return f"{path}: {hint.__name__} has no {sorted(unknown)}"
    if missing := hint.__required_keys__ - value.keys():
        return f"{path}: {hint.__name__} needs {sorted(missing)}"
    return next(filter(None, (misfit(one, fields[key], f"{path}/{key}") for key, one in value.items())), None)


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)
