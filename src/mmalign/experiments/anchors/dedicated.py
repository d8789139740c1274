"""One model for each set of modalities, trained for that set alone."""

from dataclasses import dataclass, field, replace

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels
from mmalign.experiments.anchors.contract import Answer, Fit
from mmalign.runs.subset_scores import having
from mmalign.training.config import Config


@dataclass
class Dedicated:
    """Models by set of modalities, each trained when it is first asked for.

    Attributes:
        fit: Trains a model on clips that have all their modalities.
        dataset: A model learns from those of its clips that have the modalities.
        config: Settings and seed.
    """

    fit: Fit
    dataset: Dataset
    config: Config
    known: dict[tuple[str, ...], Answer] = field(default_factory=dict)

    def predict(self, split: Split) -> Labels:
        """Each clip is answered for by the model of just the modalities that it has."""
        found = np.zeros(len(split), self.dataset.training_labels().dtype)
        has = np.stack([split.is_present(name) for name in split.modalities], axis=1)
        for pattern in np.unique(has, axis=0):
            rows = np.flatnonzero((has == pattern).all(axis=1))
            names = tuple(np.array(split.modalities)[pattern].tolist())
            found[rows] = self._model(names)(split.only(names).select(rows))
        return found

    def _model(self, names: tuple[str, ...]) -> Answer:
        if names not in self.known:
            parts = {name: having(split, names) for name, split in self.dataset.splits.items()}
            seen = replace(self.dataset.only(names), splits=parts)
            is_enough = len(np.unique(seen.training_labels())) > 1
            self.known[names] = (
                self.fit(seen, self.config) if is_enough else _constant(self.dataset)
            )
        return self.known[names]


def _constant(dataset: Dataset) -> Answer:
    """Majority class or mean, where too few training clips have a set of modalities."""
    labels = dataset.training_labels()
    is_classes = isinstance(dataset.task, Classification)
    constant = np.bincount(labels).argmax() if is_classes else labels.mean()
    return lambda split: np.full(len(split), constant, labels.dtype)
