"""Names, canonical JSON and digests: how a thing is called and when two contents are the same.

Two values with one canonical form are the same content, whatever the order of their keys.

Source: RFC 8785 (JSON Canonicalization Scheme) for the form; MCP 2026-07-28, "Tool names".
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, TypeAlias

__all__ = [
    "MAX_TOOL_ID",
    "Json",
    "canonical_json",
    "compact_json",
    "digest",
    "digest_bytes",
    "name_problem",
    "parse_json",
    "short",
]

# Sequence and Mapping, not list and dict, since those may be read as holding any JSON (they are covariant).
Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

# MCP says tool names SHOULD be at most 128; real servers go further, so ids are refused only beyond this.
MAX_TOOL_ID = 256

# Control characters, line separators and lone surrogates: what no name may hold, since none can be shown or encoded.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Where RFC 8785 and the standard library's encoder may part: a number with a point or an exponent, and
# characters whose UTF-16 order is not their code point order. A false hit inside a string costs only time.
_NUMBER = re.compile(r"[:\[,]-?\d+[.eE]")
_BARE_NUMBER = re.compile(r"-?\d+[.eE]")
_HIGH = re.compile("[\ue000-\U0010ffff]")


def name_problem(text: str) -> str | None:
    """Say why *text* cannot be a tool name, tool id or namespace, or None where it can."""
    if not text.strip():
        return "is empty"
    if len(text) > MAX_TOOL_ID:
        return f"has {len(text):,} characters, at most {MAX_TOOL_ID} are taken"
    if found := _UNPRINTABLE.search(text):
        return f"holds the unprintable character U+{ord(found.group()):04X} at position {found.start()}"
    return None


def parse_json(text: str | bytes) -> Json:
    """Read strict JSON: no NaN, no infinity, no key twice in one object.

    Raises:
        ValueError: It is not JSON, nested too deeply, or breaks one of these rules.
    """
    try:
        return json.loads(  # type: ignore[no-any-return]
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_object
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def compact_json(value: Json) -> str:
    """Write JSON on one line with no blanks, keys in the order given: what goes on the wire.

    Raises:
        ValueError: A number is not finite, or the value is nested too deeply.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def canonical_json(value: Json) -> bytes:
    """Write the one form of *value* that RFC 8785 gives it.

    One difference: integers beyond 2**53 keep all their digits, where the RFC rounds them to a
    double. Schemas hold such bounds, and rounding would call two different schemas the same.

    Raises:
        ValueError: A number is not finite, a string holds a lone surrogate, or the nesting is too deep.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
        if _NUMBER.search(text) or _BARE_NUMBER.match(text) or (not text.isascii() and _has_high_key(value)):
            text = "".join(_canonical(value))
        return text.encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"a string holds a lone surrogate at position {error.start}") from None


def digest(value: Json) -> str:
    """Return `sha256:<hex>` of the canonical form."""
    return digest_bytes(canonical_json(value))


def digest_bytes(data: bytes) -> str:
    """Return `sha256:<hex>` of the bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def short(full: str) -> str:
    """Return the first 12 hex digits of a digest: enough to tell versions apart by eye, never to prove equality."""
    return full.removeprefix("sha256:")[:12]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (math.inf, -math.inf):
        raise ValueError(f"the number {text[:40]} is beyond the range of a double")
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _has_high_key(value: Json) -> bool:
    if isinstance(value, dict):
        return any((not key.isascii() and _HIGH.search(key)) or _has_high_key(child) for key, child in value.items())
    return isinstance(value, list | tuple) and any(map(_has_high_key, value))


def _canonical(value: Json) -> Iterable[str]:
    if isinstance(value, dict):
        yield "{"
        for position, key in enumerate(sorted(value, key=lambda text: text.encode("utf-16-be", "surrogatepass"))):
            yield f"{',' if position else ''}{json.dumps(key, ensure_ascii=False)}:"
            yield from _canonical(value[key])
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for position, item in enumerate(value):
            if position:
                yield ","
            yield from _canonical(item)
        yield "]"
    elif isinstance(value, float):
        yield _number(value)
    else:
        yield json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Format a finite double as ECMAScript does (RFC 8785, 3.2.2.3): shortest digits, its own exponent rules."""
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits x 10**point.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
