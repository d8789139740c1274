"""What the bits of a result depend on beside data, settings and threads."""

import platform
from pathlib import Path

import torch

CPU_FACTS = Path("/proc/cpuinfo")


def describe_machine() -> dict[str, str | None]:
    """Processor and software; with another one, the last bits of a sum may be others.

    Numba is `None` where it cannot be imported, and portable code solves in its place.
    """
    return {
        "architecture": platform.machine(),
        "processor": _processor(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numba": _numba_version(),
    }


def _processor() -> str:
    """The processor's model: libraries choose their kernels by it."""
    if CPU_FACTS.is_file():  # Linux; platform.processor() knows nothing there
        for line in CPU_FACTS.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()


def _numba_version() -> str | None:
    try:
        import numba
    except ImportError:
        return None
    return str(numba.__version__)
