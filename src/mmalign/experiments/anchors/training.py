"""The training of anchors as a run: one for each set of modalities that is asked about."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Missingness
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels
from mmalign.errors import DataError
from mmalign.evaluation.floors import score
from mmalign.experiments.anchors.minirocket import Answer, fit_minirocket, require_installed
from mmalign.runs.protocols import AS_IS
from mmalign.runs.records import without_nan, write_json
from mmalign.runs.result import RESULT, SCORED, TIMING, Result, floors
from mmalign.runs.run import Watch
from mmalign.runs.subset_scores import having, score_subsets
from mmalign.training.distributed import World

KIND = "minirocket"


@dataclass
class Anchors:
    """One MiniRocket for each set of modalities, trained when it is first asked for.

    Attributes:
        dataset: Each anchor learns from the training clips that have its modalities.
        seed: Of the random kernels.
    """

    dataset: Dataset
    seed: int
    known: dict[tuple[str, ...], Answer] = field(default_factory=dict)

    def predict(self, split: Split) -> Labels:
        """Each clip is answered for by the anchor of the modalities that it has."""
        labels = _labels(self.dataset["train"])
        found = np.zeros(len(split), labels.dtype)
        has = np.stack([split.is_present(name) for name in split.modalities], axis=1)
        for pattern in np.unique(has, axis=0):
            rows = np.flatnonzero((has == pattern).all(axis=1))
            names = tuple(np.array(split.modalities)[pattern])
            found[rows] = self._anchor(names)(split.only(names).select(rows))
        return found

    def metrics(self, split: Split, labels: Labels) -> dict[str, float]:
        """What the anchors score on clips."""
        return score(self.dataset.task, self.predict(split), labels)

    def _anchor(self, names: tuple[str, ...]) -> Answer:
        if names not in self.known:
            train = having(self.dataset["train"], names)
            task, labels = self.dataset.task, _labels(train)
            if len(np.unique(labels)) > 1:
                self.known[names] = fit_minirocket(train, task, seed=self.seed)
            else:
                self.known[names] = _constant(self.dataset)
        return self.known[names]


@dataclass(frozen=True, kw_only=True)
class AnchorTraining:
    """What to train anchors on.

    Attributes:
        dataset: All clips.
        modalities: Which to use.
        protocols: What goes missing, by setting; none leaves the data as it is. Anchors learn from
            the first one's training clips, and are scored under each.
        seed: Of the random kernels.
        world: The processes; the first one trains, the others wait.
    """

    dataset: Dataset
    modalities: tuple[str, ...]
    protocols: Mapping[str, Missingness] = field(default_factory=dict)
    seed: int = 0
    world: World = field(default_factory=World)

    def check(self) -> None:
        """Check that there are labels, and what MiniRocket needs.

        Raises:
            ConfigError: If sktime or scikit-learn is missing.
            DataError: If the training clips have no labels.
        """
        require_installed()
        _labels(self.dataset["train"])

    def identity(self) -> dict[str, Any]:
        """Data, protocols and seed."""
        protocols = {name: vars(protocol) for name, protocol in self.protocols.items()}
        return {
            "data": dataset_hash(self._used),
            "protocols": protocols,
            "config": {"method": KIND, "modalities": list(self.modalities), "seed": self.seed},
        }

    def train(self, folder: Path, watch: Watch) -> Result:  # noqa: ARG002
        """Train what is asked about; write the result. Nothing is kept of the anchors."""
        if not self.world.is_leader:
            return {}
        started = time.perf_counter()
        first = next(iter(self._seen.values()))
        anchors = Anchors(first, self.seed)
        found = {
            "method": KIND,
            "settings": {
                setting: {"best_epoch": 0, "metrics": _metrics(anchors, seen)}
                for setting, seen in self._seen.items()
            },
            "subsets": score_subsets(self.modalities, first, anchors.metrics),
            "floor": floors(first),
            "epochs": 0,
            "parameters": {"backbone": 0, "imputer": 0},
            "diverged": None,
        }
        result: Result = dict(without_nan(found))
        write_json(folder / TIMING, {"seconds": time.perf_counter() - started})
        write_json(folder / RESULT, result)
        return result

    @cached_property
    def _used(self) -> Dataset:
        return self.dataset.only(self.modalities)

    @cached_property
    def _seen(self) -> dict[str, Dataset]:
        """What anchors see of the data, by setting."""
        seen = {setting: protocol.apply(self._used) for setting, protocol in self.protocols.items()}
        return seen or {AS_IS: self._used}


def _metrics(anchors: Anchors, seen: Dataset) -> dict[str, dict[str, float]]:
    found = {}
    for name in SCORED:
        split = seen.splits.get(name)
        if split is not None and split.labels is not None:
            found[name] = anchors.metrics(split, split.labels)
    return found


def _constant(dataset: Dataset) -> Answer:
    """Majority class or mean, where too few training clips have a set of modalities."""
    labels = _labels(dataset["train"])
    is_classes = isinstance(dataset.task, Classification)
    constant = np.bincount(labels).argmax() if is_classes else labels.mean()
    return lambda split: np.full(len(split), constant, labels.dtype)


def _labels(split: Split) -> Labels:
    if split.labels is None:
        raise DataError(
            "training needs labels", split="train", fix="Give the data a column 'label'."
        )
    return split.labels
