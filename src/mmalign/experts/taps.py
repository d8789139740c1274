"""Taps: a small convolutional network of hidden steps, with a linear read-out of evidence.

A stem over five steps, of which every few in a row become one; then residual blocks that read their
input at distant offsets, as taps on a delay line. What is left is a hidden sequence to align or to
fuse.
A layer is a few products of matrices and compiled loops: no torch, and nothing is padded.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.align.kernels.kept import Kernel
from mmalign.data.clip import Steps
from mmalign.experts.layout import LANES

fill_highest = Kernel("experts.taps_kernels", "fill_highest")
fill_pooled = Kernel("experts.taps_kernels", "fill_pooled")
finish = Kernel("experts.taps_kernels", "finish")
gather = Kernel("experts.taps_kernels", "gather")

OFFSETS = np.array([-8, -4, -2, -1, 0, 1, 2, 4, 8])
STEM = np.array([-2, -1, 0, 1, 2])
"""Where blocks and stem read, in steps from where they stand."""

NEVER = np.uint32(0)

Array = Float32[np.ndarray, "..."]
Rows = Float32[np.ndarray, "_ _"]
Bounds = Int64[np.ndarray, " _"]
Outputs = Float32[np.ndarray, "_ outputs"]


@dataclass(frozen=True)
class Packed:
    """Clips one after the other.

    Attributes:
        rows: All their steps.
        bounds: Where each clip begins; last, where the last one ends.
    """

    rows: Rows
    bounds: Bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Int64[np.ndarray, " clips"]:
        """Steps of each clip."""
        return np.diff(self.bounds)


def packed(clips: Sequence[Steps]) -> Packed:
    """The clips, one after the other."""
    bounds = np.concatenate(([0], np.cumsum([len(steps) for steps in clips])))
    return Packed(np.concatenate(clips, dtype=np.float32), bounds)


def thinned(clips: Packed, stride: int) -> Packed:
    """The maximum of every `stride` steps in a row; those of a clip's last may be fewer.

    >>> found = thinned(packed([np.array([[1.0], [3.0], [2.0]]), np.array([[5.0]])]), 2)
    >>> found.rows.tolist(), found.bounds.tolist()
    ([[3.0], [2.0], [5.0]], [0, 2, 3])
    """
    if stride == 1:
        return clips
    counts = -(-clips.lengths // stride)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    starts = np.repeat(clips.bounds[:-1] - stride * bounds[:-1], counts)
    starts += stride * np.arange(bounds[-1])
    return Packed(np.maximum.reduceat(clips.rows, starts, axis=0), bounds)


class Taps:
    """From sequences to evidence: one number an output, of any length.

    Args:
        weights: Arrays by name; see `shapes`.
        step_gain: What brings differences between steps to the size of the steps, for signals;
            0 leaves differences out, as suits lists of words.
        stride: Blocks read the maximum of so many of the stem's steps in a row.
    """

    def __init__(self, weights: Mapping[str, Array], step_gain: float, stride: int = 1) -> None:
        self.weights = weights
        self.step_gain = step_gain
        self.stride = stride

    @property
    def outputs(self) -> int:
        """Numbers of evidence."""
        return len(self.weights["read.bias"])

    @property
    def blocks(self) -> int:
        """How many blocks."""
        return sum(name.endswith("far.bias") for name in self.weights)

    def check_shapes(self, *, channels: int) -> None:
        """Check that the weights fit each other: compiled loops trust them.

        Raises:
            ValueError: If they are not those of a network that reads so many channels.
        """
        expected = shapes(
            channels * (2 if self.step_gain else 1),
            dim=len(self.weights.get("norm.weight", ())),
            blocks=self.blocks,
            outputs=len(self.weights.get("read.bias", ())),
        )
        found = {name: array.shape for name, array in self.weights.items()}
        if found != expected:
            wrong = next(n for n in (*expected, *found) if found.get(n) != expected.get(n))
            raise ValueError(f"{wrong}: {found.get(wrong)}, expected {expected.get(wrong)}")

    def __call__(self, clips: Packed) -> Outputs:
        """The evidence of each clip."""
        seen = with_differences(clips, self.step_gain)
        beside = _gathered(seen, np.zeros(seen.shape[1], np.float32), clips.bounds, STEM)
        found = beside @ self.weights["stem.weight"].T
        biases, nothing = self.weights["stem.bias"], np.zeros_like(found)
        first = Packed(self._finished("", found, found, biases, nothing), clips.bounds)
        fewer = thinned(first, self.stride)
        steps, bounds = fewer.rows, fewer.bounds
        for number in range(self.blocks):
            steps = self._block(f"blocks.{number}.", steps, bounds)
        dim = steps.shape[1]
        pool = np.empty((len(clips), 2 * dim), np.float32)
        fill_pooled(steps, bounds, pool, np.empty((len(clips), dim), np.int32))
        return np.asarray(pool @ self.weights["read.weight"].T + self.weights["read.bias"])

    def _block(self, name: str, steps: Rows, bounds: Bounds) -> Rows:
        """Reads distant steps beside the maximum of near ones, and adds what it finds."""
        narrow = steps @ self.weights[f"{name}narrow.weight"].T
        beside = _gathered(narrow, self.weights[f"{name}narrow.bias"], bounds, OFFSETS)
        highest = np.empty_like(steps)
        fill_highest(steps, bounds, highest)
        far = beside @ self.weights[f"{name}far.weight"].T
        near = highest @ self.weights[f"{name}near.weight"].T
        biases = np.concatenate([self.weights[f"{name}{part}.bias"] for part in ("far", "near")])
        return self._finished(name, far, near, biases, steps)

    def _finished(self, name: str, far: Rows, near: Rows, biases: Array, steps: Rows) -> Rows:
        """relu(steps + norm(far and near + biases))."""
        gain, shift = self.weights[f"{name}norm.weight"], self.weights[f"{name}norm.bias"]
        out, normal = np.empty_like(steps), np.empty_like(steps)
        scales = np.empty(len(steps), np.float32)
        width = far.shape[1]
        finish(far, near, width, biases, steps, gain, shift, NEVER, NEVER, out, normal, scales)
        return out


@dataclass(frozen=True)
class Weights:
    """All weights of a network in one array.

    Attributes:
        flat: The array.
        named: Its parts, in their shapes and by their names.
    """

    flat: Float32[np.ndarray, " weights"]
    named: Mapping[str, Array]

    @classmethod
    def drawn(cls, form: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> "Weights":
        """What a training begins with, in these shapes."""
        weights = cls.over(np.zeros(sum(math.prod(s) for s in form.values()), np.float32), form)
        for name, part in weights.named.items():
            inputs = form[name.replace("bias", "weight")]
            if len(inputs) == 2:
                part[:] = rng.uniform(-1, 1, part.shape) / math.sqrt(inputs[1])
            else:
                part[:] = name.endswith("weight")
        return weights

    @classmethod
    def over(cls, flat: Array, form: Mapping[str, tuple[int, ...]]) -> "Weights":
        """An array, with names for its parts."""
        ends = np.cumsum([math.prod(shape) for shape in form.values()])
        split = zip(form.items(), np.split(flat, ends[:-1]), strict=True)
        return cls(flat, {name: part.reshape(shape) for (name, shape), part in split})

    @property
    def starts(self) -> Int64[np.ndarray, " parts"]:
        """Where each part begins, and the last one ends; biases of far and near are one part."""
        sizes = np.array([part.size for part in self.named.values()])
        begins = [not name.endswith("near.bias") for name in self.named]
        return np.append((np.cumsum(sizes) - sizes)[begins], sizes.sum())


def shapes(width: int, *, dim: int, blocks: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """Shapes of all weights, by name.

    Args:
        width: Features of a step, with its differences where they are looked at.
        dim: Size of a hidden step, a multiple of 64.
        blocks: How many blocks.
        outputs: Numbers of evidence.

    Raises:
        ValueError: If a quarter of a hidden step has no whole vectors of numbers.
    """
    if dim % (4 * LANES):
        raise ValueError(f"hidden steps of {dim} numbers, expected a multiple of {4 * LANES}")
    narrow = dim // 4
    found = {"stem.weight": (dim, len(STEM) * width), "stem.bias": (dim,)}
    found |= {"norm.weight": (dim,), "norm.bias": (dim,)}
    for number in range(blocks):
        parts = {
            "narrow.weight": (narrow, dim),
            "narrow.bias": (narrow,),
            "far.weight": (dim - narrow, len(OFFSETS) * narrow),
            "near.weight": (narrow, dim),
            "far.bias": (dim - narrow,),
            "near.bias": (narrow,),
            "norm.weight": (dim,),
            "norm.bias": (dim,),
        }
        found |= {f"blocks.{number}.{name}": shape for name, shape in parts.items()}
    return found | {"read.weight": (outputs, 2 * dim), "read.bias": (outputs,)}


def with_differences(clips: Packed, gain: float) -> Rows:
    """The steps, beside what each adds to the one before."""
    if not gain:
        return np.ascontiguousarray(clips.rows)
    changes = np.diff(clips.rows, axis=0, prepend=clips.rows[:1])
    changes[clips.bounds[:-1]] = 0
    beside = np.concatenate((clips.rows, np.float32(gain) * changes), axis=1)
    return np.ascontiguousarray(beside)  # kernels are compiled ahead for rows alone


def _gathered(steps: Rows, bias: Array, bounds: Bounds, offsets: Int64[np.ndarray, " _"]) -> Rows:
    beside = np.empty((len(steps), len(offsets) * steps.shape[1]), np.float32)
    gather(steps, bias, bounds, offsets, beside)
    return beside
