"""The taps expert: a small convolutional network, trained by one cycle of learning rates."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from mmalign.data.clip import Steps
from mmalign.data.inputs import Inputs, Sense, fit_inputs, step_gain
from mmalign.data.task import Classification
from mmalign.experts.augment import Augment
from mmalign.experts.contract import Evidence, Expert, Lesson, under
from mmalign.experts.recipe import Recipe, padded, train_taps
from mmalign.experts.taps import Taps
from mmalign.model.loading import check_weights

MOST_CLIPS, MOST_STEPS = 128, 65_536
"""A batch of prediction holds no more than so many clips, and padded steps."""


class TapsExpert(Expert):
    """Reads a signal with its differences over time, or a list of words as it is.

    Args:
        dim: Size of a hidden step.
    """

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim

    def fit(self, lesson: Lesson, sense: Sense) -> None:
        """Train a network; its last epoch is kept."""
        self.inputs = fit_inputs(lesson.clips, centre=sense.centre, own_scale=sense.own_scale)
        clips = self.inputs(lesson.clips)
        self.mean, self.scale = _label_scale(lesson)
        targets = torch.from_numpy(np.asarray(lesson.labels))
        if targets.is_floating_point():
            targets = (targets - self.mean) / self.scale
        recipe = Recipe(epochs=lesson.epochs if sense.smooth else (lesson.epochs + 1) // 2)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(lesson.seed)
            self.network = Taps(
                clips[0].shape[1],
                lesson.outputs,
                step_gain=step_gain(clips) if sense.smooth else 0.0,
                dim=self.dim,
                blocks=3 if sense.smooth else 1,
            )
            change = Augment() if sense.smooth else None
            train_taps(self.network, clips, targets, recipe=recipe, change=change)

    @torch.no_grad()
    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Log-probabilities of the classes, or a number."""
        read = [torch.from_numpy(steps) for steps in self.inputs(clips)]
        outputs = torch.empty(len(read), self.network.read.out_features)
        for rows in batches_by_length([len(steps) for steps in read]):
            outputs[rows] = self.network(*padded([read[row] for row in rows]))
        if outputs.shape[1] > 1:
            return outputs.log_softmax(dim=-1).double().numpy()
        return (outputs * self.scale + self.mean).double().numpy()

    def state(self) -> dict[str, np.ndarray]:
        """Inputs, label scale and weights."""
        found = {f"inputs/{name}": np.asarray(value) for name, value in vars(self.inputs).items()}
        found |= {f"network/{k}": v.numpy() for k, v in self.network.state_dict().items()}
        network = self.network
        numbers = [network.step_gain, self.mean, self.scale, len(network.blocks)]
        return found | {"numbers": np.array(numbers, np.float64)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave."""
        step_gain, self.mean, self.scale, blocks = map(float, state["numbers"])
        centre, mean, scale = (state[f"inputs/{name}"] for name in ("centre", "mean", "scale"))
        self.inputs = Inputs(bool(centre.item()), mean, scale)
        weights: dict[str, Tensor] = {
            name: torch.from_numpy(np.array(array))
            for name, array in under(state, "network").items()
        }
        self.dim = len(weights["norm.weight"])
        outputs = len(weights["read.bias"])
        if not 0 <= blocks <= len(weights):
            raise ValueError(f"{blocks:g} blocks, but {len(weights)} arrays")

        def make() -> Taps:
            return Taps(len(mean), outputs, step_gain=step_gain, dim=self.dim, blocks=int(blocks))

        check_weights(make, weights)
        self.network = make()
        self.network.load_state_dict(weights)
        self.network.eval()


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows of like length, batch by batch; a batch has bounded clips and padded steps."""
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
