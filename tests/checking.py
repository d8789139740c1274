"""Shapes and types of signatures are checked in every test, until it only repeats itself.

A training makes the same few calls over and over, and checking each takes as long as training. So
each phase of a test has so many checked calls; pytest's option `--jaxtyping-packages` names
`checked`, and `tests/conftest.py` starts the count anew.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from beartype import BeartypeConf, beartype
from jaxtyping import config

MOST_CALLS = 4_000

beartyped = beartype(conf=BeartypeConf(is_pep484_tower=True))
calls = 0


def start_anew() -> None:
    """Check calls again."""
    global calls
    calls = 0
    config.update("jaxtyping_disable", False)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose arguments are checked; after so many calls, nothing is any more.

    Its check is made at the first call: most functions are never called by a process of tests.
    """
    strict: Callable[..., Any] | None = None

    @wraps(function)
    def counted(*args: Any, **named: Any) -> Any:
        nonlocal strict
        global calls
        calls += 1
        if calls == MOST_CALLS:
            config.update("jaxtyping_disable", True)
        strict = strict or beartyped(function)
        return strict(*args, **named)

    return counted
