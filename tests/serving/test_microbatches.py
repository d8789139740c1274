"""Answers never swap, a failure hits its own request alone, and the queue has an end."""

import asyncio
import threading

import numpy as np
import pytest

from mmalign.errors import DataError
from mmalign.serving.asking import Asked
from mmalign.serving.limits import Limits
from mmalign.serving.microbatches import Microbatches
from mmalign.serving.refusal import RefusalError
from mmalign.serving.worker import ThreadWorker


def clip(number: int) -> Asked:
    return Asked(str(number), {"m": np.full((1, 1), number, np.float32)})


def echo(clips):
    """Answers with what it was given; refuses 13, breaks at 666."""
    numbers = [int(one.sequences["m"][0, 0]) for one in clips]
    if 13 in numbers:
        raise DataError("unlucky", fix="Take another.")
    if 666 in numbers:
        raise ZeroDivisionError
    return [{"number": number} for number in numbers]


def run(queue, asking):
    async def both():
        worker = asyncio.create_task(queue.run())
        try:
            return await asking()
        finally:
            worker.cancel()

    return asyncio.run(both())


def test_answers_never_swap():
    sizes = []
    queue = Microbatches(ThreadWorker(echo), Limits(max_batch=8, max_queue=100_000), sizes.append)

    async def asking():
        async def one(start):
            numbers = range(start, start + 1 + start % 11)
            found = await queue.submit([clip(n) for n in numbers])
            return [answer["number"] for answer in found] == list(numbers)

        return await asyncio.gather(*(one(1000 + n) for n in range(500)))

    assert all(run(queue, asking))
    assert max(sizes) <= 8
    assert max(sizes) > 4
    assert queue.waiting == 0


def test_a_failure_is_its_own_request_s():
    queue = Microbatches(ThreadWorker(echo), Limits(max_queue=100))

    async def asking():
        jobs = [queue.submit([clip(n)]) for n in (1, 13, 2, 666, 3)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    one, unlucky, two, broken, three = run(queue, asking)
    assert [x[0]["number"] for x in (one, two, three)] == [1, 2, 3]
    assert isinstance(unlucky, RefusalError)
    assert unlucky.status == 422
    assert isinstance(broken, ZeroDivisionError)


def test_a_full_queue_refuses_and_recovers():
    go = threading.Event()

    def slow(clips):
        go.wait(10)
        return echo(clips)

    queue = Microbatches(ThreadWorker(slow), Limits(max_batch=1, max_queue=3))

    async def asking():
        accepted = [asyncio.create_task(queue.submit([clip(n)])) for n in range(3)]
        await asyncio.sleep(0.05)
        accepted.append(asyncio.create_task(queue.submit([clip(3)])))
        await asyncio.sleep(0)
        with pytest.raises(RefusalError, match="queue is full"):
            await queue.submit([clip(9)])
        go.set()
        found = [await one for one in accepted]
        return found, await queue.submit([clip(n) for n in range(20, 30)])

    found, many = run(queue, asking)
    assert [one[0]["number"] for one in found] == [0, 1, 2, 3]
    assert [one["number"] for one in many] == list(range(20, 30))
