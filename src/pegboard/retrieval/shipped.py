"""The calibrations that are shipped, one for each set of vector channels.

Written by `python -m bench.confidence --write`, which says on what they are fitted.
"""

from collections.abc import Mapping

from pegboard.retrieval.calibration import Calibration

__all__ = ["SHIPPED"]

SHIPPED: Mapping[tuple[str, ...], Calibration] = {}
