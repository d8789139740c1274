"""Taps: a small convolutional network of hidden steps, with a linear read-out of evidence.

A stem over five steps, of which every few in a row become one; then residual blocks that read their
input at distant offsets, as taps on a delay line. What is left is a hidden sequence to align or to
fuse.
All of it is one compiled call: no torch, and nothing is padded.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.align.kernels.kept import Kernel
from mmalign.data.packed import Packed, Rows
from mmalign.experts.layout import LANES

read_clips = Kernel("experts.taps_forward", "read_clips")
turn_weights = Kernel("experts.taps_forward", "turn_weights")

OFFSETS = np.array([-8, -4, -2, -1, 0, 1, 2, 4, 8])
STEM = np.array([-2, -1, 0, 1, 2])
"""Where blocks and stem read, in steps from where they stand."""

Array = Float32[np.ndarray, "..."]
Outputs = Float32[np.ndarray, "_ outputs"]


class Taps:
    """From sequences to evidence: one number an output, of any length.

    The weights are taken as they are at the first call.

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
        outputs = np.empty((len(clips), self.outputs), np.float32)
        flat, starts, turned = self._reading
        weights = flat, starts, turned, STEM, self.stride, OFFSETS
        read_clips(seen, clips.bounds, *weights, outputs)
        return outputs

    @cached_property
    def _reading(self) -> tuple[Array, Int64[np.ndarray, " parts"], Array]:
        """All weights, where each part begins, and matrices with a line an input."""
        dim, inputs = self.weights["stem.weight"].shape
        width = inputs // len(STEM)
        form = shapes(width, dim=dim, blocks=self.blocks, outputs=self.outputs)
        flat = np.concatenate([self.weights[name].reshape(-1) for name in form], dtype=np.float32)
        starts, turned = Weights.over(flat, form).starts, np.empty_like(flat)
        turn_weights(flat, starts, width, STEM, OFFSETS, turned)
        return flat, starts, turned


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
    beside = np.concatenate((clips.rows, np.float32(gain) * clips.changes()), axis=1)
    return np.ascontiguousarray(beside)  # kernels are compiled ahead for rows alone
