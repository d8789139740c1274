"""Where the model computes: in a process of its own, so that requests are parsed meanwhile.

The two processes speak over a socket pair; a thread between them would have to wait for its turn
whenever many requests come in. The worker ends when its end of the pair is closed.
"""

import asyncio
import gc
import pickle
import signal
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Any, Protocol, runtime_checkable

from mmalign.errors import MMAlignError
from mmalign.serving.asking import Asked, PlainAnswer
from mmalign.serving.facts import Facts

Answer = Callable[[Sequence[Asked]], list[PlainAnswer]]
Parts = Sequence[Sequence[Asked]]
Outcome = list[PlainAnswer] | Exception

HEAD = 8
DEAD = "the model's process has died; its log says why"


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

    def has_died(self) -> bool:
        """Whether it ended without being told to."""

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

    def has_died(self) -> bool:
        """Tell that a thread does not die alone."""
        return False

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
        self._way, theirs = socket.socketpair()
        self._process = get_context("spawn").Process(
            target=_work, args=(theirs, run, device, threads), daemon=True
        )
        self._process.start()
        theirs.close()

    def facts(self) -> Facts:
        """What the process tells of its model when it has loaded it; call this once, first.

        Raises:
            MMAlignError: If it cannot load it.
        """
        with self._way.makefile("rb") as reader:
            head = reader.read(HEAD)
            found = _unpacked(reader.read(int.from_bytes(head, "little"))) if head else None
        if isinstance(found, Facts):
            return found
        raise found if isinstance(found, MMAlignError) else MMAlignError(DEAD)

    async def start(self) -> None:
        """Open the way to the process in the running event loop."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._way, limit=1 << 24)

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
            raise ConnectionResetError(DEAD) from error
        outcomes: list[Outcome] = _unpacked(content)
        return outcomes

    def has_died(self) -> bool:
        """Whether the process has closed its end of the way."""
        return self._reader.at_eof()

    async def stop(self) -> None:
        """Close the way, at which the process ends."""
        self._writer.close()
        await asyncio.to_thread(self._process.join, 10)

    def close(self) -> None:
        """Close the way where no event loop did: an open one would keep both processes."""
        self._way.close()


def keep_collector_away() -> None:
    """Let requests wait less for the garbage collector.

    What was loaded stays for good, so it need not be looked through again; with thousands of
    connections open, neither should those be after every few requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _packed(content: object) -> bytes:
    packed = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return len(packed).to_bytes(HEAD, "little") + packed


def _unpacked(content: bytes) -> Any:
    return pickle.loads(content)  # noqa: S301  both ends are ours


def _work(way: socket.socket, run: str, device: str, threads: int) -> None:
    """Answer batch after batch until the other process closes the way."""
    # The terminal and systemd signal both processes; the other one decides when this one ends.
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    from mmalign.serving.loading import load_answering

    # The other process may have ended meanwhile, and has said why.
    with way, suppress(ConnectionError):
        try:
            answering = load_answering(run, device, threads)
        except (MMAlignError, OSError) as error:
            way.sendall(_packed(MMAlignError(str(error))))
            return
        keep_collector_away()
        way.sendall(_packed(answering.facts))
        _answer_all(way, answering)


def _answer_all(way: socket.socket, answering: Answer) -> None:
    with way.makefile("rb") as reader:
        while head := reader.read(HEAD):
            parts = _unpacked(reader.read(int.from_bytes(head, "little")))
            way.sendall(_packed([_plain(outcome) for outcome in computed(answering, parts)]))


def _plain(outcome: Outcome) -> Outcome:
    """An error that can be packed: who gets it needs to know no more than whose fault it is."""
    if isinstance(outcome, MMAlignError):
        return MMAlignError(str(outcome))
    return RuntimeError(repr(outcome)) if isinstance(outcome, Exception) else outcome
