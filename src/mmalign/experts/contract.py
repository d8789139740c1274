"""The contract: an expert learns one modality, and turns its sequences into evidence."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int64

from mmalign.data.clip import Steps
from mmalign.data.inputs import Sense
from mmalign.data.task import Classification, Labels, Task

Evidence = Float[np.ndarray, "clips outputs"]
"""A row a clip: scores of the classes, or one number in the label's terms."""


EPOCHS = 40
"""Passes of the networks over the clips; with 30, two sensors of people left out lose .5 points."""


@dataclass(frozen=True)
class Lesson:
    """What an expert learns from: the training clips that have its modality.

    Attributes:
        clips: Their sequences `[time, channels]`, of any length.
        labels: Indices of classes, or numbers.
        task: What the labels mean.
        groups: The person or video of each clip, where that is known.
        seed: Whatever is drawn is drawn from this.
        epochs: Passes of a network over the clips.
        networks: Trained by an expert that has any; their answers are averaged.
        given: Parts of the input sense that are not to be chosen, by name; see `choose_sense`.
    """

    clips: Sequence[Steps]
    labels: Labels
    task: Task
    groups: Int64[np.ndarray, " clips"] | None
    seed: int
    epochs: int = EPOCHS
    networks: int = 1
    given: Mapping[str, bool] = field(default_factory=dict)

    @property
    def outputs(self) -> int:
        """Numbers of evidence a clip."""
        return self.task.outputs

    def part(self, rows: Int64[np.ndarray, " some"]) -> "Lesson":
        """What the clips at these rows teach."""
        return replace(
            self,
            clips=[self.clips[row] for row in rows],
            labels=self.labels[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    @property
    def mean(self) -> Float[np.ndarray, " outputs"]:
        """What a ridge says of a clip of which it knows nothing: the mean of the targets."""
        return np.asarray(self.targets().mean(axis=0))

    def targets(self) -> Float[np.ndarray, "clips outputs"]:
        """1 for a clip's own class and -1 for the others; or the number itself."""
        if not isinstance(self.task, Classification):
            return np.asarray(self.labels, np.float64)[:, None]
        return np.asarray(2.0 * np.eye(self.outputs)[np.asarray(self.labels)] - 1.0)


class Expert(ABC):
    """Learns the sequences of one modality, of any length and width.

    It never sees a clip that lacks its modality. The same lesson gives the same evidence, and the
    evidence of a clip does not depend on the clips beside it, but for the rounding of float32.
    """

    @abstractmethod
    def fit(self, lesson: Lesson, sense: Sense) -> None:
        """Learn; `sense` says how the modality's sequences are centred and scaled."""

    @abstractmethod
    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """What the sequences say about the label."""

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """All that was learned, as arrays by name."""

    @abstractmethod
    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave."""
