"""What an action costs, measured in a process of its own: how it ends, seconds, memory."""

import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

PAGE_KB = 1024


class Cost(NamedTuple):
    """How an action ended, and what it took beyond a process that does nothing."""

    outcome: str
    seconds: float
    memory: int


def cost_of(action: Callable[[], Any], *, seconds: int = 20) -> Cost:
    """Run the action in a fork, which is ended after so many seconds of CPU, or twice that."""
    base = _child(lambda: None, seconds)
    spent = _child(action, seconds)
    return Cost(spent.outcome, spent.seconds, max(0, spent.memory - base.memory))


def _child(action: Callable[[], Any], seconds: int) -> Cost:
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(action, writing, seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read()
    _, status, used = os.wait4(child, 0)
    outcome = pickle.loads(told) if told else f"died ({status})"
    return Cost(outcome, time.monotonic() - started, used.ru_maxrss * PAGE_KB)


def _run(action: Callable[[], Any], writing: int, seconds: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(2 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    outcome = "done"
    try:
        action()
    except BaseException as error:
        outcome = f"{type(error).__name__}: {str(error)[:4000]}"
    os.write(writing, pickle.dumps(outcome))
    sys.stderr = None
    os._exit(0)
