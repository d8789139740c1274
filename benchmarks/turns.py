"""Contenders take turns in one process: noise of the machine hits all alike."""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

TURN = 0.01
"""CPU seconds of a turn, or more. A short call is made again and again, as `timeit` does: a single
one would mostly measure how fast the processor's caches forget what the other contender used."""


@dataclass(frozen=True)
class Times:
    """CPU seconds a call, of some rounds: the median with its spread."""

    median: float
    fastest: float
    slowest: float

    def __str__(self) -> str:
        middle, low, high = (1e3 * t for t in (self.median, self.fastest, self.slowest))
        return f"{middle:.4g} ms [{low:.4g}, {high:.4g}]"


def take_turns(
    contenders: Mapping[str, Callable[[], object]], rounds: int, turn: float = TURN
) -> dict[str, Times]:
    """CPU time of a call of each contender, after a first round for compilation and caches.

    Args:
        contenders: What is called.
        rounds: How many turns each takes.
        turn: CPU seconds that a turn lasts, or more; 0 for a single call.
    """
    calls = {name: _calls_within(turn, work) for name, work in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            seconds[name].append(_timed(work, calls[name]))
    return {n: Times(statistics.median(t), min(t), max(t)) for n, t in seconds.items()}


def _calls_within(turn: float, work: Callable[[], object]) -> int:
    """How many calls fill a turn, by the second one; a long one is not made twice to know."""
    first = _timed(work, 1)
    if turn == 0 or first > 100 * turn:
        return 1
    return max(1, math.ceil(turn / _timed(work, 1)))


def _timed(work: Callable[[], object], calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - started) / calls
