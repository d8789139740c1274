"""The model in a process of its own."""

import asyncio
import os
import signal

import pytest

import mmalign
from mmalign.serving.answering import Answering
from mmalign.serving.limits import Limits
from mmalign.serving.loading import facts_of
from mmalign.serving.microbatches import Microbatches
from mmalign.serving.refusal import RefusalError
from mmalign.serving.worker import ProcessWorker
from tests.serving.test_answering import asked


def test_a_process_answers_like_the_model_and_its_death_is_noticed(experts, experts_data):
    model = mmalign.load(experts)
    clips = asked(experts_data["test"])
    expected = Answering(model, facts_of(model, experts))(clips)
    worker = ProcessWorker(str(experts), "cpu", 1)
    assert worker.facts() == facts_of(model, experts)

    async def ask():
        await worker.start()
        queue = Microbatches(worker, Limits(max_batch=5))
        running = asyncio.create_task(queue.run())
        found = await queue.submit(clips)
        os.kill(worker._process.pid, signal.SIGTERM)  # the other process decides
        again = await queue.submit(clips[:1])
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(RefusalError, match="stopping"):
            await queue.submit(clips[:1])
        await running
        assert queue.is_broken
        await worker.stop()
        return found, again

    found, again = asyncio.run(ask())
    for one, other in zip(found, expected, strict=True):
        assert one.pop("probabilities") == pytest.approx(other.pop("probabilities"), abs=1e-5)
        assert one == other
    assert again[0]["id"] == clips[0].id


def test_a_process_that_nobody_waits_for_ends_without_a_word(experts):
    unheard, refused = (ProcessWorker(str(experts), "cpu", 1) for _ in range(2))
    unheard.close()
    refused.facts()
    refused.close()
    for worker in (unheard, refused):
        worker._process.join(60)
        assert worker._process.exitcode == 0
