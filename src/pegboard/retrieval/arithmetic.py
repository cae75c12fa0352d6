"""Logarithm and exponential that are the same on every processor.

The platform's differ in the last digit from library to library. These are series of additions,
multiplications and divisions of doubles, each correctly rounded, in a fixed order (law 8). They are used for a
few numbers a request, never for arrays.

Source: ln x = 2 artanh((x - 1) / (x + 1)) and the Taylor series of exp, after halving into a small range.
"""

import math

__all__ = ["exp", "ln", "logistic"]

_LN2 = 0.6931471805599453
_LARGEST = 700.0  # exp of more is no double


def ln(value: float) -> float:
    """Return the natural logarithm of a positive number, right to about 1e-15."""
    mantissa, exponent = math.frexp(value)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    total = 0.0
    for power in range(33, 0, -2):
        total = total * square + 1.0 / power
    return exponent * _LN2 + 2.0 * ratio * total


def exp(value: float) -> float:
    """Return e to the power of *value*; beyond 700 it stays at the ends."""
    value = max(-_LARGEST, min(_LARGEST, value))
    steps = round(value / _LN2)
    rest = value - steps * _LN2
    total = 1.0
    for power in range(20, 0, -1):
        total = 1.0 + total * rest / power
    return math.ldexp(total, steps)


def logistic(value: float) -> float:
    """Return 1 / (1 + exp(-value)), rounded to six digits."""
    return round(1.0 / (1.0 + exp(-value)), 6)
