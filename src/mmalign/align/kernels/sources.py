"""The sources of all kernels, which are compiled into each other."""

from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
PLACES = ("*/kernels/*.py", "experts/*kernels.py", "experts/taps_*.py", "experts/layout.py")


@cache
def sources_digest() -> str:
    """What changes with any of them: code that was compiled before is then stale."""
    digest = sha256()
    for source in sorted(path for place in PLACES for path in PACKAGE.glob(place)):
        digest.update(source.read_bytes())
    return digest.hexdigest()
