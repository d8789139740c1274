"""One thread for training a network.

Its operations are small. Threads that share them wait for each other in a loop: on two cores with
other work beside it, an epoch took up to 25 times as long with two threads as with one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Limit torch to one thread, as `mmalign train` does, unless `OMP_NUM_THREADS` is set."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(before if "OMP_NUM_THREADS" in os.environ else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
