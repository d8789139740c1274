"""The training of anchors as a run: all that is kept is how they score."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Missingness
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.evaluation.floors import score
from mmalign.experiments.anchors.contract import Answer, Fit
from mmalign.experiments.anchors.dedicated import Dedicated
from mmalign.experiments.anchors.minirocket import KIND as MINIROCKET
from mmalign.experiments.anchors.minirocket import fit_minirocket, require_installed
from mmalign.experiments.anchors.network import fit_network, fit_plain_network
from mmalign.runs.protocols import seen_under
from mmalign.runs.records import without_nan, write_json
from mmalign.runs.result import RESULT, SCORED, TIMING, Result, floors
from mmalign.runs.run import Watch
from mmalign.runs.subset_scores import score_subsets
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World

DEDICATED: Mapping[str, Fit] = {MINIROCKET: fit_minirocket, "lb": fit_plain_network}
"""What is trained for each set of modalities alone; any other method is one network for all."""


@dataclass(frozen=True, kw_only=True)
class AnchorTraining:
    """What to train anchors on.

    Attributes:
        dataset: All clips.
        modalities: Which to use.
        protocols: What goes missing, by setting; none leaves the data as it is. Anchors learn from
            the first one's training clips, and are scored under each.
        config: Method, settings and seed.
        world: The processes; the first one trains, the others wait.
    """

    dataset: Dataset
    modalities: tuple[str, ...]
    protocols: Mapping[str, Missingness] = field(default_factory=dict)
    config: Config
    world: World = field(default_factory=World)

    def check(self) -> None:
        """Check that there are labels, and what the method needs.

        Raises:
            ConfigError: If MiniRocket is not installed.
            DataError: If the training clips have no labels.
        """
        if self.config.method == MINIROCKET:
            require_installed()
        self.dataset.training_labels()

    def identity(self) -> dict[str, Any]:
        """Data, protocols and config."""
        protocols = {name: vars(protocol) for name, protocol in self.protocols.items()}
        return {
            "data": dataset_hash(self._used),
            "protocols": protocols,
            "modalities": list(self.modalities),
            "config": config_to_json(self.config),
        }

    def train(self, folder: Path, watch: Watch) -> Result:  # noqa: ARG002
        """Train what is asked about; write the result. Nothing is kept of the anchors."""
        if not self.world.is_leader:
            return {}
        started = time.perf_counter()
        first = next(iter(self._seen.values()))
        answer = self._fit(first)

        def scored(split: Split, labels: Labels) -> tuple[Labels, dict[str, Any]]:
            predictions = answer(split)
            return predictions, {"metrics": score(first.task, predictions, labels)}

        found = {
            "method": self.config.method,
            "settings": {
                setting: {"best_epoch": 0, "metrics": _metrics(answer, seen)}
                for setting, seen in self._seen.items()
            },
            "subsets": score_subsets(self.modalities, first, scored),
            "floor": floors(first),
            "epochs": 0,
            "parameters": {"backbone": 0, "imputer": 0},
            "diverged": None,
        }
        result: Result = dict(without_nan(found))
        write_json(folder / TIMING, {"seconds": time.perf_counter() - started})
        write_json(folder / RESULT, result)
        return result

    def _fit(self, seen: Dataset) -> Answer:
        dedicated = DEDICATED.get(self.config.method)
        if dedicated is None:
            return fit_network(seen, self.config)
        return Dedicated(dedicated, seen, self.config).predict

    @cached_property
    def _used(self) -> Dataset:
        return self.dataset.only(self.modalities)

    @cached_property
    def _seen(self) -> dict[str, Dataset]:
        """What anchors see of the data, by setting."""
        return seen_under(self.protocols, self._used)


def _metrics(answer: Answer, seen: Dataset) -> dict[str, dict[str, float]]:
    found = {}
    for name in SCORED:
        split = seen.splits.get(name)
        if split is not None and split.labels is not None:
            found[name] = score(seen.task, answer(split), split.labels)
    return found
