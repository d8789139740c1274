"""One thread a worker, as many workers as cores: small tensors are slower on two threads."""

import os

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMBA")
}
"""For the environment, before numpy and torch are imported."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
