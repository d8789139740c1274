"""One thread for products of matrices.

Those of experts are small. Shared between threads, which wait for each other in a loop, they take
several times as long, and the more so where other work wants the cores.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def learning_on_one_thread() -> AbstractContextManager[object]:
    """Limit the libraries that training uses: compiled loops call SciPy's."""
    import scipy.linalg.cython_blas  # noqa: F401  # a limit knows what is loaded only

    return _limited(_controller())


def reading_on_one_thread() -> AbstractContextManager[object]:
    """Limit the libraries that a prediction uses, in some microseconds."""
    return _limited(_first_controller())


@cache
def _first_controller() -> Any:
    """Finding out what is loaded takes milliseconds: once is enough."""
    return _controller()


def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _limited(controller: Any) -> AbstractContextManager[object]:
    limits: AbstractContextManager[object] = controller.limit(limits=1, user_api="blas")
    return limits
