"""All that the routes share: the model's facts, the queue, the counters."""

import json
import time
from collections.abc import Sequence
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.task import task_to_json
from mmalign.serving.asking import Asked, PlainAnswer
from mmalign.serving.examples import examples_of, no_examples
from mmalign.serving.facts import Facts
from mmalign.serving.json_body import JsonBody
from mmalign.serving.limits import Limits
from mmalign.serving.metrics import Metrics
from mmalign.serving.microbatches import IsGone, Microbatches, never
from mmalign.serving.schema import example_request, request_type
from mmalign.serving.tensor_body import TensorBody
from mmalign.serving.worker import Worker
from mmalign.version import __version__


class Service:
    """A model that is served.

    Args:
        worker: What computes.
        facts: What is known about the model.
        limits: What may be asked of it.
        examples: A dataset whose clips the page shows.
    """

    def __init__(
        self,
        worker: Worker,
        facts: Facts,
        limits: Limits,
        examples: Dataset | None = None,
    ) -> None:
        self.worker = worker
        self.facts = facts
        self.limits = limits
        self.request = request_type(facts, limits)
        self.read_json = JsonBody(self.request, facts, limits)
        self.read_tensors = TensorBody(facts, limits)
        self.metrics = Metrics(facts.dims, lambda: self.queue.waiting)
        self.queue = Microbatches(worker, limits, self.metrics.count_batch)
        self.examples = no_examples(facts) if examples is None else examples_of(examples, facts)
        self.is_ready = False
        self.is_stopping = False

    async def warm_up(self) -> None:
        """Answer once, so that no client pays for what is compiled at first use.

        Raises:
            RefusalError: If the worker dies.
        """
        request = json.dumps(example_request(self.facts, self.limits))
        await self.queue.submit(self.read_json(request.encode()))

    async def answer(self, clips: Sequence[Asked], is_gone: IsGone = never) -> list[PlainAnswer]:
        """Answer a request's clips, in order.

        Args:
            clips: Of the request.
            is_gone: Tells whether nobody waits for the answers any more.

        Raises:
            RefusalError: If the queue is full, or the model has no answer.
        """
        started = time.perf_counter()
        answers = await self.queue.submit(clips, is_gone)
        self.metrics.count_answers(answers, time.perf_counter() - started)
        return answers

    def described(self) -> dict[str, Any]:
        """What `GET /v1/model` tells."""
        facts = self.facts
        return {
            "name": facts.name,
            "kind": facts.kind,
            "method": facts.method,
            "task": task_to_json(facts.task),
            "modalities": {
                name: {
                    "dim": dim,
                    "is_needed": name in facts.needs,
                    "is_imputed": name in facts.imputes,
                }
                for name, dim in facts.dims.items()
            },
            "directions": [list(direction) for direction in facts.directions],
            "limits": vars(self.limits),
            "card": facts.card,
            "version": __version__,
        }
