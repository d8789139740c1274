"""What `mmalign` answers to command lines, each in a fork."""

import subprocess
from collections.abc import Sequence

from tests.forked import MMALIGN, Forked


def mmalign_many(commands: Sequence[Sequence[object]]) -> list[subprocess.CompletedProcess[str]]:
    """The answers of `mmalign` to each command line, in order."""
    return [mmalign_alone(*words) for words in commands]


def mmalign_alone(*words: object) -> subprocess.CompletedProcess[str]:
    """The answer to one command line."""
    return Forked(MMALIGN, words).done()
