"""The taps expert: small convolutional networks, trained by one cycle of learning rates."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from mmalign.data.clip import Steps
from mmalign.data.inputs import Inputs, Sense, coarse, fit_inputs, step_gain
from mmalign.data.names import under
from mmalign.data.packed import packed
from mmalign.data.task import Classification
from mmalign.experts.contract import Evidence, Expert, Lesson
from mmalign.experts.taps import Taps

LONG, MOST_TOGETHER = 128, 16
"""Steps that the network sees a signal with; of longer ones it reads means of a few in a row."""
FEW, MOST_STRIDE = 12, 4
"""Blocks read maxima of a few steps of a signal in a row, so that about so many are left."""
Said = Float[np.ndarray, "networks clips classes"]


class TapsExpert(Expert):
    """Reads a signal with its differences over time, or a list of words as it is.

    One network answers, or the mean of several that differ in their initial weights and order of
    batches: each is wrong of some clips by chance.

    Args:
        dim: Size of a hidden step, a multiple of 64.
    """

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim

    def fit(self, lesson: Lesson, sense: Sense) -> None:
        """Train the networks; the last epoch of each is kept."""
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
        self.networks = [
            trained_taps(
                replace(lesson, clips=clips, labels=targets, seed=seed),
                step_gain=gain,
                stride=self._stride(usual) if sense.smooth else 1,
                dim=self.dim,
                blocks=3 if sense.smooth else 1,
                is_smooth=sense.smooth,
            )
            for seed in _seeds(lesson.seed, lesson.networks)
        ]

    def _stride(self, usual: float) -> int:
        return int(min(max(1, usual // self.together // FEW), MOST_STRIDE))

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Log-probabilities of the classes, or a number: the mean of what the networks say."""
        read = packed(self._read(clips))
        said = np.stack([network(read) for network in self.networks])
        if self.outputs > 1:
            return np.asarray(_log_shares(said.astype(np.float64)).mean(axis=0))
        numbers = said * np.float32(self.scale) + np.float32(self.mean)
        return np.asarray(numbers.mean(axis=0, dtype=np.float64))

    @property
    def outputs(self) -> int:
        """Numbers of evidence."""
        return self.networks[0].outputs

    def _read(self, clips: Sequence[Steps]) -> Sequence[Steps]:
        """Sequences as the networks see them."""
        seen = self.inputs(clips)
        return seen if self.together == 1 else [coarse(steps, self.together) for steps in seen]

    def state(self) -> dict[str, np.ndarray]:
        """Inputs, label scale and weights."""
        found = {f"inputs/{name}": np.asarray(value) for name, value in vars(self.inputs).items()}
        for number, network in enumerate(self.networks):
            found |= {f"{_stored(number)}/{k}": array for k, array in network.weights.items()}
        network = self.networks[0]
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
        self.networks = []
        while weights := under(state, f"{_stored(len(self.networks))}/"):
            network = Taps({k: np.array(v, np.float32) for k, v in weights.items()}, gain, maxima)
            network.check_shapes(channels=len(mean))
            if blocks != network.blocks:
                raise ValueError(f"{blocks:g} blocks, but arrays of {network.blocks}")
            self.networks.append(network)
        self.dim = len(self.networks[0].weights["norm.weight"])


def _seeds(first: int, count: int) -> list[int]:
    """A seed for each network: the lesson's own, and others that follow from it."""
    return [first, *map(int, np.random.SeedSequence(first).generate_state(count - 1))]


def _stored(number: int) -> str:
    """Under which name a network's arrays are stored; that of the first is never numbered."""
    return "network" if not number else f"network{number + 1}"


def _in_a_row(what: str, steps: float, most: int) -> int:
    """How many steps in a row become one, if that is a whole number that a network may have.

    Raises:
        ValueError: If it is not.
    """
    if not (steps.is_integer() and 1 <= steps <= most):
        raise ValueError(f"{what} of {steps:g} steps")
    return int(steps)


def _label_scale(lesson: Lesson) -> tuple[float, float]:
    if isinstance(lesson.task, Classification):
        return 0.0, 1.0
    return float(np.mean(lesson.labels)), float(np.std(lesson.labels)) or 1.0


def _log_shares(outputs: Said) -> Said:
    shifted = outputs - outputs.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
