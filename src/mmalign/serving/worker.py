"""The model in a process of its own: requests are parsed while it computes."""

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

from mmalign.serving.answering import Answering, PlainAnswer
from mmalign.serving.asking import Asked
from mmalign.serving.facts import facts_of

_answering: Answering | None = None


def answer(clips: Sequence[Asked]) -> list[PlainAnswer]:
    """Answer in a worker process.

    Raises:
        DataError: If the model has no finite answer for a clip.
        RuntimeError: If this is no worker process.
    """
    if _answering is None:
        raise RuntimeError("this process has no model")
    return _answering(clips)


def make_worker(run: str, device: str, threads: int) -> Executor:
    """A process that has loaded a run, and ends with this one."""
    return ProcessPoolExecutor(
        1,
        mp_context=get_context("spawn"),
        initializer=_load,
        initargs=(run, device, threads),
    )


def _load(run: str, device: str, threads: int) -> None:
    global _answering
    import torch

    import mmalign

    # The terminal and systemd signal both processes; the other one decides when this one ends.
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    model = mmalign.load(run, device=device)
    _answering = Answering(model, facts_of(model, Path(run)))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
