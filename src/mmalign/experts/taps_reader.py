"""A trained taps network that only reads: the same answers without torch, in a tenth of the time.

Prediction of one clip in torch is nearly all calls from operator to operator. Here a layer is one
product of matrices and one compiled loop.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.experts.taps_kernels import fill_highest, fill_pooled, finish, gather
from mmalign.experts.taps_offsets import OFFSETS, STEM

Array = Float32[np.ndarray, "..."]
Lengths = Int64[np.ndarray, " batch"]
NEVER = np.uint32(0)


@dataclass(frozen=True)
class TapsReader:
    """Weights of a :class:`mmalign.experts.taps.Taps`, by the names that it gives them.

    Attributes:
        weights: Arrays by name.
        step_gain: What differences between steps are multiplied by; 0 for none.
    """

    weights: Mapping[str, Array]
    step_gain: float

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
        expected = _shapes(
            channels * (2 if self.step_gain else 1),
            dim=len(self.weights.get("norm.weight", ())),
            blocks=self.blocks,
            outputs=len(self.weights.get("read.bias", ())),
        )
        found = {name: array.shape for name, array in self.weights.items()}
        if found != expected:
            wrong = next(n for n in (*expected, *found) if found.get(n) != expected.get(n))
            raise ValueError(f"{wrong}: {found.get(wrong)}, expected {expected.get(wrong)}")

    def __call__(
        self,
        features: Float32[np.ndarray, "batch time channels"],
        lengths: Lengths,
    ) -> Float32[np.ndarray, "batch outputs"]:
        """Outputs of the network for padded clips."""
        found = self._linear("stem", _gathered(self._seen(features), lengths, STEM))
        steps = self._finished("norm", found, found[..., :0], np.zeros_like(found), lengths)
        for number in range(self.blocks):
            block = f"blocks.{number}."
            near = np.empty_like(steps)
            fill_highest(steps, lengths, near)
            narrow = self._linear(f"{block}narrow", steps)
            far = self._linear(f"{block}far", _gathered(narrow, lengths, OFFSETS))
            near = self._linear(f"{block}near", near)
            steps = self._finished(f"{block}norm", far, near, steps, lengths)
        batch, _, dim = steps.shape
        pooled = np.empty((batch, 2 * dim), np.float32)
        fill_pooled(steps, lengths, pooled, np.empty((batch, dim), np.int32))
        return self._linear("read", pooled)

    def _seen(self, features: Array) -> Array:
        if not self.step_gain:
            return np.ascontiguousarray(features)
        change = np.diff(features, axis=1, prepend=features[:, :1])
        return np.concatenate((features, np.float32(self.step_gain) * change), axis=-1)

    def _linear(self, name: str, given: Array) -> Array:
        # Flat, so that it is one product of matrices, not one a clip.
        flat: Array = given.reshape(-1, given.shape[-1]) @ self.weights[f"{name}.weight"].T
        flat += self.weights[f"{name}.bias"]
        return flat.reshape(*given.shape[:-1], -1)

    def _finished(
        self, norm: str, far: Array, near: Array, steps: Array, lengths: Lengths
    ) -> Array:
        gain, bias = self.weights[f"{norm}.weight"], self.weights[f"{norm}.bias"]
        out, normal = np.empty_like(steps), np.empty_like(steps)
        scales = np.empty(steps.shape[:2], np.float32)
        near = np.ascontiguousarray(near)
        finish(far, near, steps, lengths, gain, bias, NEVER, NEVER, out, normal, scales)
        return out


def _gathered(steps: Array, lengths: Lengths, offsets: tuple[int, ...]) -> Array:
    beside = np.empty((*steps.shape[:2], len(offsets) * steps.shape[2]), np.float32)
    gather(steps, lengths, np.array(offsets), beside)
    return beside


def _shapes(width: int, *, dim: int, blocks: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """Shapes of all weights, by name."""
    narrow = dim // 4
    linear = {"stem": (dim, len(STEM) * width), "read": (outputs, 2 * dim)}
    norms = ["norm"]
    for number in range(blocks):
        block = f"blocks.{number}."
        linear[f"{block}narrow"] = linear[f"{block}near"] = (narrow, dim)
        linear[f"{block}far"] = (dim - narrow, len(OFFSETS) * narrow)
        norms.append(f"{block}norm")
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in linear.items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        found |= {f"{name}.weight": (dim,), f"{name}.bias": (dim,)}
    return found
