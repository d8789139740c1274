"""Where the model computes: in a process of its own, so that requests are parsed meanwhile.

The two processes speak over a socket pair; a thread between them would have to wait for its turn
whenever many requests come in. The worker ends when its end of the pair is closed.
"""

import asyncio
import pickle
import signal
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol, runtime_checkable

from mmalign.errors import MMAlignError
from mmalign.serving.answering import Answering, PlainAnswer
from mmalign.serving.asking import Asked
from mmalign.serving.facts import facts_of

Answer = Callable[[Sequence[Asked]], list[PlainAnswer]]
Parts = Sequence[Sequence[Asked]]
Outcome = list[PlainAnswer] | Exception

HEAD = 8


def computed(answer: Answer, parts: Parts) -> list[Outcome]:
    """Answers for each part of a batch; a part that fails fails alone."""
    try:
        answers = iter(answer([clip for clips in parts for clip in clips]))
        return [[next(answers) for _ in clips] for clips in parts]
    except Exception as error:
        if len(parts) == 1:
            return [error]
        return [outcome for clips in parts for outcome in computed(answer, [clips])]


@runtime_checkable
class Worker(Protocol):
    """What computes one batch after the other."""

    async def start(self) -> None:
        """Get ready, in the running event loop."""

    async def compute(self, parts: Parts) -> list[Outcome]:
        """One outcome for each part of a batch.

        Raises:
            OSError: If the worker has died.
        """

    async def stop(self) -> None:
        """End."""


class ThreadWorker:
    """Computes in a thread; for a service inside another program."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._thread = ThreadPoolExecutor(1)

    async def start(self) -> None:
        """Nothing is to be done."""

    async def compute(self, parts: Parts) -> list[Outcome]:
        """One outcome for each part of a batch."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, computed, self._answer, parts)

    async def stop(self) -> None:
        """Wait for the thread."""
        self._thread.shutdown()


class ProcessWorker:
    """Computes in a process that loads a run for itself.

    Args:
        run: Where the run is.
        device: Where to compute.
        threads: Of torch.
    """

    def __init__(self, run: str, device: str, threads: int) -> None:
        self._arguments = (run, device, threads)

    async def start(self) -> None:
        """Start the process and open the way to it."""
        ours, theirs = socket.socketpair()
        process = get_context("spawn").Process(
            target=_work, args=(theirs, *self._arguments), daemon=True
        )
        process.start()
        theirs.close()
        self._process = process
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=1 << 24)

    async def compute(self, parts: Parts) -> list[Outcome]:
        """One outcome for each part of a batch.

        Raises:
            OSError: If the process has died.
        """
        self._writer.write(_packed(parts))
        await self._writer.drain()
        try:
            size = int.from_bytes(await self._reader.readexactly(HEAD), "little")
            content = await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the model's process has died") from error
        outcomes: list[Outcome] = pickle.loads(content)  # noqa: S301  from our own process
        return outcomes

    async def stop(self) -> None:
        """Close the way, at which the process ends."""
        self._writer.close()
        await asyncio.to_thread(self._process.join, 10)


def _packed(content: object) -> bytes:
    packed = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return len(packed).to_bytes(HEAD, "little") + packed


def _work(way: socket.socket, run: str, device: str, threads: int) -> None:
    """Answer batch after batch until the other process closes the way."""
    import torch

    import mmalign

    # The terminal and systemd signal both processes; the other one decides when this one ends.
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    torch.set_num_threads(threads)
    model = mmalign.load(run, device=device)
    answer = Answering(model, facts_of(model, Path(run)))
    with way, way.makefile("rb") as reader:
        while head := reader.read(HEAD):
            parts = pickle.loads(reader.read(int.from_bytes(head, "little")))  # noqa: S301
            way.sendall(_packed([_plain(outcome) for outcome in computed(answer, parts)]))


def _plain(outcome: Outcome) -> Outcome:
    """An error that can be packed: who gets it needs to know no more than whose fault it is."""
    if isinstance(outcome, MMAlignError):
        return MMAlignError(str(outcome))
    return RuntimeError(repr(outcome)) if isinstance(outcome, Exception) else outcome
