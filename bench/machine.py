"""The machine a measurement ran on, written down with it."""

import os
import platform
import time

import numpy as np

__all__ = ["machine", "read_bandwidth"]


def machine() -> dict[str, object]:
    """Describe processor, load and versions."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def read_bandwidth() -> float:
    """Return how many GB/s one core reads from memory: the limit of any exact scan."""
    data = np.ones(1 << 27, dtype=np.int64)  # 1 GiB
    best = min(_seconds(data) for _ in range(3))
    return data.nbytes / best / 1e9


def _seconds(data: np.ndarray) -> float:  # type: ignore[type-arg]
    start = time.process_time()
    data.max()
    return time.process_time() - start
