"""What imputation costs in training: MM-Align against Modal-Trans, batch by batch."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from mmalign.data.batching import Batches
from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Protocol
from mmalign.imputers import Direction
from mmalign.model.hidden import Hidden
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.model import Model
from mmalign.training.config import Config
from mmalign.training.methods import build_model, find_method, seen_by

CONTENDERS = (
    "mmalign",
    "modal-trans",
    "modal-trans-uncached",
    "modal-trans-parallel",
    "dynamic-window",
)
ROUNDS = 5
BATCHES = 6


def time_imputers(dataset: Dataset, config: Config, protocol: Protocol) -> dict[str, Any]:
    """Milliseconds of CPU time a training batch, medians over interleaved rounds on one thread.

    `fit` is the imputer's own step on a complete batch (forward and backward), `impute` what the
    missing path adds (forward and backward), `solve` the part of `fit` that solves for plans.
    """
    visible, victim = protocol.visible, protocol.victim
    masked = seen_by(find_method(config.method), dataset, protocol.masks(dataset))
    train = masked["train"]
    complete = train.select(np.flatnonzero(train.is_present(victim)))
    batches = Batches(complete, masked.dims, batch_size=config.batch_size, seed=config.seed)
    streams = [to_streams(batch, (visible, victim)) for batch in batches.epoch(0)][:BATCHES]
    models = {}
    for method in CONTENDERS:
        torch.manual_seed(config.seed)
        models[method] = build_model(
            replace(config, method=method),
            masked.task,
            {name: masked.dims[name] for name in (visible, victim)},
            [Direction(visible, victim)],
        )
    times: dict[str, dict[str, list[float]]] = {m: {} for m in CONTENDERS}
    for _ in range(ROUNDS):
        for batch in streams:
            for method, model in models.items():
                hidden = _encoded(model, batch)
                for part, milliseconds in _timed_parts(model, *hidden).items():
                    times[method].setdefault(part, []).append(milliseconds)
    return {
        "batch_size": config.batch_size,
        "steps": float(train.lengths(visible).mean()),
        "milliseconds": {
            method: {part: float(np.median(values)) for part, values in parts.items()}
            for method, parts in times.items()
        },
    }


def _encoded(model: Model, batch: Streams) -> tuple[Hidden, Hidden]:
    with torch.no_grad():
        visible, victim = (model.encode(name, batch) for name in model.modalities)
    steps = visible.steps.detach().requires_grad_()
    return Hidden(visible.head, steps, visible.lengths), victim


def _timed_parts(model: Model, visible: Hidden, victim: Hidden) -> dict[str, float]:
    imputer = model.bank.only

    def fit() -> None:
        loss = imputer.fit_loss(visible.detach(), victim)
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]

    def impute() -> None:
        imputer.impute(visible, victim.lengths).sum().backward()  # type: ignore[no-untyped-call]

    parts = {"fit": _milliseconds(fit), "impute": _milliseconds(impute)}
    if imputer.plan(visible, victim) is not None:
        parts["solve"] = _milliseconds(lambda: imputer.plan(visible, victim))
    return parts


def _milliseconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)
