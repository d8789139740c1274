"""Requests that arrive together are computed together; beyond a bound they are refused.

One worker computes. While it does, clips gather in the queue; the next batch takes what is there.
So nobody waits for company, and batches grow by themselves under load. The queue holds what is
computed in a hundredth of a second, few clips if they are long. Where far more requests
come than can be answered, they are let in late: those of the second half of a batch fill the queue
as well, and wait half as long.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mmalign.errors import MMAlignError
from mmalign.serving.asking import Asked, PlainAnswer
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import RefusalError, busy, gone, stopping, unfit
from mmalign.serving.worker import Outcome, Worker

NO_ANSWER = "The model has no finite answer for a clip. Look for extreme feature values."

FEWEST = 8
"""So many clips may wait, however long they take: batches of fewer waste time."""

SLOWLY = 1.02

IsGone = Callable[[], bool]


def never() -> bool:
    """Say that somebody waits."""
    return False


@dataclass(frozen=True)
class Piece:
    """Clips of one request that are computed together."""

    clips: Sequence[Asked]
    answers: "asyncio.Future[list[PlainAnswer]]"
    is_gone: IsGone


class Microbatches:
    """A bounded queue in front of a model.

    Args:
        worker: What computes.
        limits: `max_batch` clips are computed at once, `max_queue` may wait.
        watch: Is told the size of every batch.
    """

    def __init__(
        self, worker: Worker, limits: Limits, watch: Callable[[int], None] = lambda _: None
    ) -> None:
        self._worker = worker
        self._limits = limits
        self._watch = watch
        self._pieces: deque[Piece] = deque()
        self._is_work = asyncio.Event()
        self._entering = 0
        self._refused = 0
        self._opens = 0.0
        self._seconds = 0.0
        self._each = math.inf  # seconds of computing a clip
        self._room = limits.max_queue
        self.waiting = 0
        self.is_broken = False

    def admits(self) -> bool:
        """Whether one more request may come in; those that are on their way here count."""
        if self.waiting + self._entering >= self._room:
            self._refused += 1
            return False
        if time.perf_counter() < self._opens:
            return False
        if not self._entering:  # they are here before anything else is received
            asyncio.get_running_loop().call_soon(self._entered)
        self._entering += 1
        return True

    def _entered(self) -> None:
        self._entering = 0

    async def submit(self, clips: Sequence[Asked], is_gone: IsGone = never) -> list[PlainAnswer]:
        """The answers to a request's clips, in order; of any number if no others wait.

        Args:
            clips: Of the request.
            is_gone: Tells whether nobody waits for the answers any more.

        Raises:
            RefusalError: If the queue is full, or the model has no answer.
        """
        if self.waiting and self.waiting + len(clips) > self._limits.max_queue:
            raise busy()
        if self.is_broken:
            raise stopping()
        size, loop = self._limits.max_batch, asyncio.get_running_loop()
        pieces = [
            Piece(clips[start : start + size], loop.create_future(), is_gone)
            for start in range(0, len(clips), size)
        ]
        self.waiting += len(clips)
        self._pieces.extend(pieces)
        self._is_work.set()
        if len(pieces) == 1:
            return await pieces[0].answers
        done = await asyncio.gather(*(piece.answers for piece in pieces))
        return [answer for part in done for answer in part]

    async def run(self) -> None:
        """Compute batch after batch until cancelled, or until the worker dies."""
        while not self.is_broken:
            await self._is_work.wait()
            batch = self._next_batch()
            if batch:
                await self._compute(batch)

    async def _compute(self, batch: list[Piece]) -> None:
        began = time.perf_counter()
        is_crowded, self._refused = self._refused >= self._room, 0
        self._opens = began + self._seconds / 2 if is_crowded else began
        try:
            outcomes = await self._worker.compute([piece.clips for piece in batch])
        except OSError:
            self.is_broken = True
            batch += self._pieces
            outcomes = [stopping() for _ in batch]
        self._seconds = time.perf_counter() - began
        self._opens = began
        size = sum(len(piece.clips) for piece in batch)
        # Of small batches a clip takes longer: what large ones took is forgotten slowly.
        self._each = min(self._seconds / size, SLOWLY * self._each)
        in_time = int(self._limits.queue_seconds / self._each)
        self._room = min(self._limits.max_queue, max(FEWEST, in_time))
        for piece, outcome in zip(batch, outcomes, strict=True):
            _settle(piece, outcome)

    def _next_batch(self) -> list[Piece]:
        """The oldest pieces that fit into a batch and that somebody waits for."""
        batch: list[Piece] = []
        size = 0
        while self._pieces and size + len(self._pieces[0].clips) <= self._limits.max_batch:
            piece = self._pieces.popleft()
            self.waiting -= len(piece.clips)
            if piece.is_gone():
                _settle(piece, gone())
            else:
                batch.append(piece)
                size += len(piece.clips)
        if not self._pieces:
            self._is_work.clear()
        if batch:
            self._watch(size)
        return batch


def _settle(piece: Piece, outcome: Outcome) -> None:
    if piece.answers.done():  # the client has gone
        return
    if isinstance(outcome, RefusalError):
        piece.answers.set_exception(outcome)
    elif isinstance(outcome, MMAlignError):
        piece.answers.set_exception(unfit(NO_ANSWER))
    elif isinstance(outcome, Exception):
        piece.answers.set_exception(outcome)
    else:
        piece.answers.set_result(outcome)
