"""Requests that arrive together are computed together; beyond a bound they are refused.

One worker computes. While it does, clips gather in the queue; the next batch takes what is there.
So nobody waits for company, and batches grow by themselves under load.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mmalign.errors import MMAlignError
from mmalign.serving.asking import Asked, PlainAnswer
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import BUSY, DRAINING, RefusalError, unfit
from mmalign.serving.worker import Outcome, Worker

NO_ANSWER = "The model has no finite answer for a clip. Look for extreme feature values."


@dataclass(frozen=True)
class Piece:
    """Clips of one request that are computed together."""

    clips: Sequence[Asked]
    answers: "asyncio.Future[list[PlainAnswer]]"


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
        self.waiting = 0
        self.is_broken = False

    def require_room(self, clips: int = 1) -> None:
        """Check that so many clips may wait; a request of any size may if nobody does.

        Raises:
            RefusalError: If not.
        """
        if self.waiting and self.waiting + clips > self._limits.max_queue:
            raise BUSY

    async def submit(self, clips: Sequence[Asked]) -> list[PlainAnswer]:
        """The answers to a request's clips, in order.

        Raises:
            RefusalError: If the queue is full, or the model has no answer.
        """
        self.require_room(len(clips))
        if self.is_broken:
            raise DRAINING
        size, loop = self._limits.max_batch, asyncio.get_running_loop()
        pieces = [
            Piece(clips[start : start + size], loop.create_future())
            for start in range(0, len(clips), size)
        ]
        self.waiting += len(clips)
        self._pieces.extend(pieces)
        self._is_work.set()
        done = await asyncio.gather(*(piece.answers for piece in pieces))
        return [answer for part in done for answer in part]

    async def run(self) -> None:
        """Compute batch after batch until cancelled, or until the worker dies."""
        while not self.is_broken:
            await self._is_work.wait()
            batch = self._next_batch()
            try:
                outcomes = await self._worker.compute([piece.clips for piece in batch])
            except OSError:
                self.is_broken = True
                batch += self._pieces
                outcomes = [DRAINING] * len(batch)
            for piece, outcome in zip(batch, outcomes, strict=True):
                _settle(piece, outcome)

    def _next_batch(self) -> list[Piece]:
        """The oldest pieces that fit into a batch."""
        batch = [self._pieces.popleft()]
        size = len(batch[0].clips)
        while self._pieces and size + len(self._pieces[0].clips) <= self._limits.max_batch:
            batch.append(self._pieces.popleft())
            size += len(batch[-1].clips)
        self.waiting -= size
        if not self._pieces:
            self._is_work.clear()
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
