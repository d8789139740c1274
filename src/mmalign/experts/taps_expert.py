"""The taps expert: a small convolutional network, trained by one cycle of learning rates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from mmalign.data.clip import Steps
from mmalign.data.inputs import Inputs, Sense, coarse, fit_inputs, step_gain
from mmalign.data.task import Classification
from mmalign.experts.contract import Evidence, Expert, Lesson, under
from mmalign.experts.taps import Taps, packed

MOST_CLIPS, MOST_STEPS = 128, 65_536
"""A batch of prediction holds no more than so many clips, and steps if all were as long."""
LONG, MOST_TOGETHER = 128, 16
"""Steps that the network sees a signal with; of longer ones it reads means of a few in a row."""
FEW, MOST_STRIDE = 12, 4
"""Blocks read maxima of a few steps of a signal in a row, so that about so many are left."""


class TapsExpert(Expert):
    """Reads a signal with its differences over time, or a list of words as it is.

    Args:
        dim: Size of a hidden step, a multiple of 64.
    """

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim

    def fit(self, lesson: Lesson, sense: Sense) -> None:
        """Train a network; its last epoch is kept."""
        from mmalign.experts.recipe import trained_taps  # its kernels are for training only

        self.inputs = fit_inputs(lesson.clips, centre=sense.centre, own_scale=sense.own_scale)
        usual = float(np.median([len(steps) for steps in lesson.clips]))
        self.together = min(max(1, round(usual / LONG)), MOST_TOGETHER) if sense.smooth else 1
        clips = self._read(lesson.clips)
        self.mean, self.scale = _label_scale(lesson)
        targets = np.asarray(lesson.labels)
        if not isinstance(lesson.task, Classification):
            targets = ((targets - self.mean) / self.scale).astype(np.float32)
        gain = step_gain(clips) if sense.smooth else 0.0
        self.network = trained_taps(
            replace(lesson, clips=clips, labels=targets),
            step_gain=gain,
            stride=self._stride(usual) if sense.smooth else 1,
            dim=self.dim,
            blocks=3 if sense.smooth else 1,
            is_smooth=sense.smooth,
        )

    def _stride(self, usual: float) -> int:
        return int(min(max(1, usual // self.together // FEW), MOST_STRIDE))

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Log-probabilities of the classes, or a number."""
        read = self._read(clips)
        outputs = np.empty((len(read), self.network.outputs), np.float32)
        for rows in batches_by_length([len(steps) for steps in read]):
            outputs[rows] = self.network(packed([read[row] for row in rows]))
        if outputs.shape[1] > 1:
            return _log_shares(outputs.astype(np.float64))
        return np.asarray(outputs * np.float32(self.scale) + np.float32(self.mean), np.float64)

    def _read(self, clips: Sequence[Steps]) -> list[Steps]:
        """Sequences as the network sees them."""
        return [coarse(steps, self.together) for steps in self.inputs(clips)]

    def state(self) -> dict[str, np.ndarray]:
        """Inputs, label scale and weights."""
        found = {f"inputs/{name}": np.asarray(value) for name, value in vars(self.inputs).items()}
        found |= {f"network/{name}": array for name, array in self.network.weights.items()}
        network = self.network
        numbers = [network.step_gain, self.mean, self.scale, network.blocks]
        numbers += [self.together, network.stride]
        return found | {"numbers": np.array(numbers, np.float64)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave."""
        gain, self.mean, self.scale, blocks, *later = map(float, state["numbers"])
        # Files of earlier versions end before the strides, or before both.
        together, stride = later + [1.0] * (2 - len(later))
        self.together = _in_a_row("means", together, MOST_TOGETHER)
        maxima = _in_a_row("maxima", stride, MOST_STRIDE)
        centre, mean, scale = (state[f"inputs/{name}"] for name in ("centre", "mean", "scale"))
        self.inputs = Inputs(bool(centre.item()), mean, scale)
        weights = {k: np.array(v, np.float32) for k, v in under(state, "network").items()}
        self.network = Taps(weights, gain, maxima)
        self.network.check_shapes(channels=len(mean))
        if blocks != self.network.blocks:
            raise ValueError(f"{blocks:g} blocks, but arrays of {self.network.blocks}")
        self.dim = len(weights["norm.weight"])


def _in_a_row(what: str, steps: float, most: int) -> int:
    """How many steps in a row become one, if that is a whole number that a network may have.

    Raises:
        ValueError: If it is not.
    """
    if not (steps.is_integer() and 1 <= steps <= most):
        raise ValueError(f"{what} of {steps:g} steps")
    return int(steps)


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows of like length, batch by batch; a batch has bounded clips and steps."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        size = len(batch) + 1
        if batch and (size > MOST_CLIPS or size * lengths[row] > MOST_STEPS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _label_scale(lesson: Lesson) -> tuple[float, float]:
    if isinstance(lesson.task, Classification):
        return 0.0, 1.0
    return float(np.mean(lesson.labels)), float(np.std(lesson.labels)) or 1.0


def _log_shares(outputs: Float[np.ndarray, "clips classes"]) -> Float[np.ndarray, "clips classes"]:
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
