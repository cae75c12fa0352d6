"""How properties are run: sampled by default, in full under `PEGBOARD_SOAK=1` (`make soak`).

A test that needs more or fewer cases than the profile's says so with `tests.strategies.cases`.
"""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("sampled", max_examples=40, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("soak", max_examples=2_000, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.load_profile("soak" if os.environ.get("PEGBOARD_SOAK") == "1" else "sampled")
