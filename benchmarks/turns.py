"""Contenders take turns in one process: noise of the machine hits all alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """CPU seconds of some rounds: the median with its spread."""

    median: float
    fastest: float
    slowest: float

    def __str__(self) -> str:
        middle, low, high = (1e3 * t for t in (self.median, self.fastest, self.slowest))
        return f"{middle:.4g} ms [{low:.4g}, {high:.4g}]"


def take_turns(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """CPU time of each contender, after a first round for compilation and caches."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, work in contenders.items():
            started = time.process_time()
            work()
            if turn:
                seconds[name].append(time.process_time() - started)
    return {n: Times(statistics.median(t), min(t), max(t)) for n, t in seconds.items()}
