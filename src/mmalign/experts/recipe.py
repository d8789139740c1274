"""How an expert's network is trained: one cycle of learning rates, its last epoch, no selection."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.clip import Steps
from mmalign.experts.augment import Augment
from mmalign.experts.taps import Taps


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of the training.

    Attributes:
        epochs: Passes over the clips.
        batch_size: Clips a batch; twice as many from 500 clips on.
        learning_rate: At the top of the cycle.
        weight_decay: Decoupled weight decay.
        warm_up: Share of the steps until the top.
        smoothing: Label smoothing.
        mixup: Shape of the Beta distribution that pairs of clips are mixed with; 0 for none.
    """

    epochs: int = 40
    batch_size: int = 32
    learning_rate: float = 3e-3
    weight_decay: float = 0.02
    warm_up: float = 0.1
    smoothing: float = 0.1
    mixup: float = 0.2


def train_taps(
    network: Taps,
    clips: Sequence[Steps],
    targets: Tensor,
    *,
    recipe: Recipe,
    change: Augment | None,
    read: Callable[[Steps], Steps],
    seed: int,
) -> None:
    """Train in place.

    Args:
        network: What to train.
        clips: Sequences as inputs give them.
        targets: Class indices, or numbers of unit scale.
        recipe: How.
        change: What is done to a clip each time it is seen; none leaves clips as they are.
        read: From a clip to what the network reads of it.
        seed: Order, dropout, mixing and augmentation.
    """
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    size = recipe.batch_size * (2 if len(clips) >= 500 else 1)
    total = recipe.epochs * math.ceil(len(clips) / size)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=1.0, betas=(0.9, 0.99), weight_decay=recipe.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: recipe.learning_rate * cycle(step / total, recipe.warm_up)
    )
    network.train()
    for _ in range(recipe.epochs):
        for rows in _batches(len(clips), size, rng):
            seen = [clips[row] if change is None else change(clips[row], rng) for row in rows]
            loss = _mixed_loss(network, [read(s) for s in seen], targets[rows], recipe, rng)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    network.eval()


def cycle(progress: float, warm_up: float) -> float:
    """Share of the top learning rate: up in a line, down along a cosine to 0."""
    if progress < warm_up:
        return (progress + 1e-3) / (warm_up + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (progress - warm_up) / (1 - warm_up)))


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    order = rng.permutation(count).tolist()
    return (order[start : start + size] for start in range(0, count, size))


def _mixed_loss(
    network: Taps,
    clips: Sequence[Steps],
    targets: Tensor,
    recipe: Recipe,
    rng: np.random.Generator,
) -> Float[Tensor, ""]:
    features, lengths = padded(clips)
    share = float(rng.beta(recipe.mixup, recipe.mixup)) if recipe.mixup else 1.0
    other = torch.from_numpy(rng.permutation(len(clips)))
    mixed = share * features + (1 - share) * features[other]
    outputs = network(mixed, torch.maximum(lengths, lengths[other]))
    own, others = (_loss(outputs, t, recipe.smoothing) for t in (targets, targets[other]))
    return share * own + (1 - share) * others


def _loss(outputs: Tensor, targets: Tensor, smoothing: float) -> Float[Tensor, ""]:
    if targets.is_floating_point():
        return functional.l1_loss(outputs[:, 0], targets)
    return functional.cross_entropy(outputs, targets, label_smoothing=smoothing)


def padded(
    clips: Sequence[Steps],
) -> tuple[Float[Tensor, "batch time channels"], Int[Tensor, " batch"]]:
    """The clips as one tensor, zeros from each one's length on."""
    lengths = torch.tensor([len(steps) for steps in clips])
    features = torch.zeros(len(clips), int(lengths.max()), clips[0].shape[1])
    for row, steps in enumerate(clips):
        features[row, : len(steps)] = torch.from_numpy(np.ascontiguousarray(steps))
    return features, lengths
