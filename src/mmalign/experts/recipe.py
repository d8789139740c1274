"""How an expert's network is trained: one cycle of learning rates, its last epoch, no selection."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.clip import Steps
from mmalign.experts.augment import Augment
from mmalign.experts.contract import EPOCHS, Lesson
from mmalign.experts.taps import Taps
from mmalign.model.adamw import AdamW, clip_gradients

LONGEST = 2048
"""Steps of a clip that a batch of training holds; memory grows with them."""

FEWEST = 8
"""Batches of an epoch: few clips are passed over more than once, or a network hardly learns."""

Change = Callable[[Tensor, Tensor], Tensor]
"""From a padded batch and its lengths to the same clips, a little different."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of the training.

    Attributes:
        epochs: Passes over the clips; of few clips, several count as one.
        batch_size: Clips a batch; twice as many from 500 clips on.
        learning_rate: At the top of the cycle.
        weight_decay: Decoupled weight decay.
        warm_up: Share of the steps until the top.
        smoothing: Label smoothing.
        mixup: Shape of the Beta distribution that pairs of clips are mixed with; 0 for none.
    """

    epochs: int = EPOCHS
    batch_size: int = 32
    learning_rate: float = 3e-3
    weight_decay: float = 0.02
    warm_up: float = 0.1
    smoothing: float = 0.1
    mixup: float = 0.2


def trained_taps(
    lesson: Lesson, *, step_gain: float, dim: int, blocks: int, is_smooth: bool
) -> dict[str, Float32[np.ndarray, "..."]]:
    """Weights of a network, by name, that was trained with the lesson's seed.

    Args:
        lesson: Sequences as inputs give them, with class indices or numbers of unit scale.
        step_gain: See `Taps`.
        dim: See `Taps`.
        blocks: See `Taps`.
        is_smooth: Whether sequences are signals; lists of words are seen half as often, unchanged.
    """
    recipe = Recipe(epochs=lesson.epochs if is_smooth else (lesson.epochs + 1) // 2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(lesson.seed)
        channels = lesson.clips[0].shape[1]
        network = Taps(channels, lesson.outputs, step_gain=step_gain, dim=dim, blocks=blocks)
        change = Augment() if is_smooth else None
        targets = torch.from_numpy(np.asarray(lesson.labels))
        train_taps(network, lesson.clips, targets, recipe=recipe, change=change)
    return {name: weights.numpy().copy() for name, weights in network.state_dict().items()}


def train_taps(
    network: Taps,
    clips: Sequence[Steps],
    targets: Tensor,
    *,
    recipe: Recipe,
    change: Change | None,
) -> None:
    """Train in place; what is drawn is drawn from torch's present seed.

    Args:
        network: What to train.
        clips: Sequences as inputs give them.
        targets: Class indices, or numbers of unit scale.
        recipe: How.
        change: What is done to clips each time they are seen; none leaves them as they are.
    """
    sequences = [torch.from_numpy(np.ascontiguousarray(steps)) for steps in clips]
    size = recipe.batch_size * (2 if len(clips) >= 500 else 1)
    batches = math.ceil(len(clips) / size)
    passes = recipe.epochs * max(1, round(FEWEST / batches))
    total = passes * batches
    flat = flattened(network)
    optimizer = AdamW([flat], rate=0.0, weight_decay=recipe.weight_decay, betas=(0.9, 0.99))
    steps = itertools.count()
    network.train()
    for _ in range(passes):
        for rows in torch.split(torch.randperm(len(clips)), size):
            features, lengths = padded([_part(sequences[row]) for row in rows.tolist()])
            if change is not None:
                features = change(features, lengths)
            loss = _mixed_loss(network, features, lengths, targets[rows], recipe)
            cast(Tensor, flat.grad).zero_()  # the network's slopes are parts of it
            loss.backward()  # type: ignore[no-untyped-call]
            clip_gradients([flat], 1.0)
            share = cycle(next(steps) / total, recipe.warm_up)
            optimizer.param_groups[0]["lr"] = recipe.learning_rate * share
            optimizer.step()
    network.eval()


def flattened(network: nn.Module) -> Float[Tensor, " weights"]:
    """All weights as one tensor, with its slopes; those of the network become parts of it.

    An optimizer then takes one step instead of one for each small tensor.
    """
    weights = list(network.parameters())
    flat = torch.cat([weight.detach().flatten() for weight in weights])
    flat.grad = torch.zeros_like(flat)
    start = 0
    for weight in weights:
        end = start + weight.numel()
        weight.data = flat[start:end].view(weight.shape)
        weight.grad = flat.grad[start:end].view(weight.shape)
        start = end
    return flat


def _part(steps: Float[Tensor, "_ channels"]) -> Float[Tensor, "_ channels"]:
    """The clip; of a very long one, a part that starts anywhere."""
    if len(steps) <= LONGEST:
        return steps
    start = int(torch.randint(len(steps) - LONGEST + 1, ()))
    return steps[start : start + LONGEST]


def cycle(progress: float, warm_up: float) -> float:
    """Share of the top learning rate: up in a line, down along a cosine to 0."""
    if progress < warm_up:
        return (progress + 1e-3) / (warm_up + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (progress - warm_up) / (1 - warm_up)))


def _mixed_loss(
    network: Taps,
    features: Float[Tensor, "batch time channels"],
    lengths: Int[Tensor, " batch"],
    targets: Tensor,
    recipe: Recipe,
) -> Float[Tensor, ""]:
    """The loss of clips that are mixed in pairs, in the same shares as their labels."""
    share = _beta(recipe.mixup) if recipe.mixup else 1.0
    other = torch.randperm(len(features))
    mixed = share * features + (1 - share) * features[other]
    outputs = network(mixed, torch.maximum(lengths, lengths[other]))
    own, others = (_loss(outputs, t, recipe.smoothing) for t in (targets, targets[other]))
    return share * own + (1 - share) * others


def _beta(shape: float) -> float:
    """A draw from the symmetric Beta distribution, as a share of two Gamma draws."""
    first, second = torch._standard_gamma(torch.full((2,), shape, dtype=torch.float64)).tolist()
    return first / (first + second) if first + second else 0.5


def _loss(outputs: Tensor, targets: Tensor, smoothing: float) -> Float[Tensor, ""]:
    if targets.is_floating_point():
        return functional.l1_loss(outputs[:, 0], targets)
    return functional.cross_entropy(outputs, targets, label_smoothing=smoothing)


def padded(
    clips: Sequence[Float[Tensor, "_ channels"]],
) -> tuple[Float[Tensor, "batch time channels"], Int[Tensor, " batch"]]:
    """The clips as one tensor, zeros from each one's length on."""
    lengths = torch.tensor([len(steps) for steps in clips])
    return nn.utils.rnn.pad_sequence(list(clips), batch_first=True), lengths
