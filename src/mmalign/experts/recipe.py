"""How an expert's network is trained: one cycle of learning rates, its last epoch, no selection."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from mmalign.data.clip import Steps
from mmalign.data.packed import Packed, packed
from mmalign.data.task import Classification
from mmalign.experts.augment import Augment
from mmalign.experts.batch_kernels import fill_mixed
from mmalign.experts.contract import EPOCHS, Lesson
from mmalign.experts.taps import (
    OFFSETS,
    STEM,
    Outputs,
    Taps,
    Weights,
    shapes,
    with_differences,
)
from mmalign.experts.taps_slopes import add_slopes
from mmalign.model.kernels.adam import adam_of_parts

LONGEST = 2048
"""Steps of a clip that a batch of training holds; memory grows with them."""

FEWEST = 8
"""Batches of an epoch: few clips are passed over more than once, or a network hardly learns."""

DROPPED = np.array([26, 77], np.uint32)
"""Of 256 numbers that a block finds, and of those that are read out, dropout hits so many."""

BETAS = np.float32(0.9), np.float32(0.99)
CLIP_NORM = 1.0
"""Slopes are scaled down to this norm."""

Change = Callable[[Packed, np.random.Generator], Packed]
"""From a batch to the same clips, a little different."""


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
    lesson: Lesson, *, step_gain: float, stride: int, dim: int, blocks: int, is_smooth: bool
) -> Taps:
    """A network that was trained with the lesson's seed.

    Args:
        lesson: Sequences as inputs give them, with class indices or numbers of unit scale.
        step_gain: See `Taps`.
        stride: See `Taps`.
        dim: Size of a hidden step, a multiple of 64.
        blocks: How many blocks.
        is_smooth: Whether sequences are signals; lists of words are seen half as often, unchanged.
    """
    recipe = Recipe(epochs=lesson.epochs if is_smooth else (lesson.epochs + 1) // 2)
    rng = np.random.default_rng(lesson.seed)
    width = lesson.clips[0].shape[1] * (2 if step_gain else 1)
    form = shapes(width, dim=dim, blocks=blocks, outputs=lesson.outputs)
    weights = Weights.drawn(form, rng)
    network = Taps(weights.named, step_gain, stride)
    train_taps(network, weights, lesson, recipe=recipe, change=Augment() if is_smooth else None)
    return network


def train_taps(
    network: Taps, weights: Weights, lesson: Lesson, *, recipe: Recipe, change: Change | None
) -> None:
    """Train in place.

    Args:
        network: What to train.
        weights: Its weights.
        lesson: Sequences as inputs give them, with class indices or numbers of unit scale.
        recipe: How.
        change: What is done to clips each time they are seen; none leaves them as they are.
    """
    rng = np.random.default_rng((lesson.seed, 1))
    targets = _targets(lesson, recipe.smoothing)
    slopes, means, squares = (np.zeros_like(weights.flat) for _ in range(3))
    starts, decay = weights.starts, np.float32(recipe.weight_decay)
    whole, count = np.array([0, len(slopes)]), np.zeros(1, np.int64)
    for progress, rows in _batches(len(lesson.clips), recipe, rng):
        batch = packed([_part(lesson.clips[row], rng) for row in rows])
        if change is not None:
            batch = change(batch, rng)
        mix = _Mix.drawn(len(rows), recipe.mixup, rng)
        slopes[:] = 0
        mixed = mix(batch)
        add_slopes(
            *(with_differences(mixed, network.step_gain), mixed.bounds),
            *(weights.flat, starts, STEM, network.stride, OFFSETS),
            *(rng.integers(2**32, size=(len(rows), network.blocks + 1), dtype=np.uint32), DROPPED),
            *(targets[rows], targets[rows[mix.other]], mix.share),
            slopes,
        )
        slopes /= np.float32(len(rows))
        rate = np.float32(recipe.learning_rate * cycle(progress, recipe.warm_up))
        memory = weights.flat, slopes, means, squares, whole, np.ones(1, np.bool_), count
        adam_of_parts(*memory, rate, decay, *BETAS, CLIP_NORM)


def cycle(progress: float, warm_up: float) -> float:
    """Share of the top learning rate: up in a line, down along a cosine to 0."""
    if progress < warm_up:
        return (progress + 1e-3) / (warm_up + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (progress - warm_up) / (1 - warm_up)))


def _batches(
    clips: int, recipe: Recipe, rng: np.random.Generator
) -> Iterator[tuple[float, Int64[np.ndarray, " batch"]]]:
    """How far the training is, and the clips of the next batch."""
    size = recipe.batch_size * (2 if clips >= 500 else 1)
    batches = math.ceil(clips / size)
    passes = recipe.epochs * max(1, round(FEWEST / batches))
    for done in range(passes):
        order = rng.permutation(clips)
        for number in range(batches):
            progress = (done * batches + number) / (passes * batches)
            yield progress, order[number * size : (number + 1) * size]


def _part(steps: Steps, rng: np.random.Generator) -> Steps:
    """The clip; of a very long one, a part that starts anywhere."""
    if len(steps) <= LONGEST:
        return steps
    start = int(rng.integers(len(steps) - LONGEST + 1))
    return steps[start : start + LONGEST]


def _targets(lesson: Lesson, smoothing: float) -> Outputs:
    """What outputs should be: shares of the classes, or a number."""
    if not isinstance(lesson.task, Classification):
        return np.asarray(lesson.labels, np.float32)[:, None]
    own = np.eye(lesson.outputs)[np.asarray(lesson.labels)]
    return np.asarray((1 - smoothing) * own + smoothing / lesson.outputs, np.float32)


@dataclass(frozen=True)
class _Mix:
    """Clips that are mixed in pairs.

    Attributes:
        share: Of the clip itself.
        other: Which clip each is mixed with.
    """

    share: np.float32
    other: Int64[np.ndarray, " clips"]

    @classmethod
    def drawn(cls, clips: int, shape: float, rng: np.random.Generator) -> "_Mix":
        share = rng.beta(shape, shape) if shape else 1.0
        return cls(np.float32(share), rng.permutation(clips))

    def __call__(self, clips: Packed) -> Packed:
        """The mixed clips, each as long as the longer of two."""
        lengths = clips.lengths
        bounds = np.concatenate(([0], np.cumsum(np.maximum(lengths, lengths[self.other]))))
        rows = np.empty((bounds[-1], clips.rows.shape[1]), np.float32)
        fill_mixed(clips.rows, clips.bounds, self.other, self.share, bounds, rows)
        return Packed(rows, bounds)
