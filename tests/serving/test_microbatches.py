"""Answers never swap, a failure hits its own request alone, and the queue has an end."""

import asyncio
import gc
import threading
import time
import weakref

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


def test_a_crowd_is_let_in_late():
    """Under overload the door is open in the second half of a batch only."""

    def slow(clips):
        time.sleep(0.2)
        return echo(clips)

    queue = Microbatches(ThreadWorker(slow), Limits(max_batch=1, max_queue=1))

    async def asking():
        await queue.submit([clip(1)])  # now it knows how long a batch takes
        first = asyncio.create_task(queue.submit([clip(2)]))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(queue.submit([clip(3)]))
        await asyncio.sleep(0.02)
        crowd = [queue.admits() for _ in range(3)]
        await first
        await asyncio.sleep(0.02)
        early = queue.admits()
        await asyncio.sleep(0.12)
        late = [queue.admits() for _ in range(2)]
        await second
        return crowd, early, late

    assert run(queue, asking) == ([False] * 3, False, [True, False])


def test_nobody_computes_for_a_client_that_has_left():
    seen = []

    def note(clips):
        seen.extend(int(one.id) for one in clips)
        time.sleep(0.05)
        return echo(clips)

    queue = Microbatches(ThreadWorker(note), Limits(max_batch=2, max_queue=20))

    async def asking():
        first = asyncio.create_task(queue.submit([clip(0)]))
        await asyncio.sleep(0.01)
        gone = asyncio.create_task(queue.submit([clip(n) for n in range(1, 8)], lambda: True))
        stays = asyncio.create_task(queue.submit([clip(9)]))
        return await asyncio.gather(first, gone, stays, return_exceptions=True)

    first, gone, stays = run(queue, asking)
    assert (first[0]["number"], stays[0]["number"]) == (0, 9)
    assert isinstance(gone, RefusalError)
    assert (seen, queue.waiting) == ([0, 9], 0)


def test_what_was_refused_is_forgotten():
    queue = Microbatches(ThreadWorker(echo), Limits(max_batch=1, max_queue=1))
    refused = []

    async def asking():
        waiting = [asyncio.create_task(queue.submit([clip(1)]))]
        await asyncio.sleep(0)
        for number in range(3):
            one = clip(number)
            refused.append(weakref.ref(one.sequences["m"]))
            with pytest.raises(RefusalError, match="full"):
                await queue.submit([one])
        del one
        await asyncio.gather(*waiting)

    run(queue, asking)
    gc.collect()
    assert [ref() for ref in refused] == [None] * 3


def test_fewer_clips_may_wait_where_they_take_long():
    async def scene(seconds: float, clips: int) -> int:
        def answer(clips):
            time.sleep(seconds * len(clips))
            return [{} for _ in clips]

        worker = ThreadWorker(answer)
        queue = Microbatches(worker, Limits(max_batch=16, max_queue=64, queue_seconds=1.0))
        running = asyncio.create_task(queue.run())
        await queue.submit([clip(n) for n in range(clips)])
        running.cancel()
        return sum(queue.admits() for _ in range(100))

    # A busy machine may take a quarter of a second longer for any of these.
    assert asyncio.run(scene(0.0, 16)) == 64
    assert 8 <= asyncio.run(scene(0.05, 4)) <= 20
    assert asyncio.run(scene(0.2, 2)) == 8
