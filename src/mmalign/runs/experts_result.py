"""What a run of experts found: scores as the data are, and of every subset, beside floors."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.evaluation.calibration import reliability_bins
from mmalign.experts.answers import Answers, answer_table, answers
from mmalign.experts.model import Experts
from mmalign.experts.saving import member_state
from mmalign.runs.experts_artifact import KIND, describe_modality
from mmalign.runs.records import without_nan
from mmalign.runs.result import SCORED, Result, floors, write_predictions
from mmalign.runs.subset_scores import score_subsets


@dataclass
class ExpertsOutcome:
    """Collects what a trained model scores, one setting after the other."""

    model: Experts
    scores: dict[str, Any] = field(default_factory=dict)
    predictions: list[pa.Table] = field(default_factory=list)

    def score(self, setting: str, seen: Dataset) -> None:
        """Score the model on what a setting leaves of valid and test."""
        splits = {name: seen.splits[name] for name in SCORED if name in seen.splits}
        found = {name: answers(self.model, split) for name, split in splits.items()}
        metrics, reliability = {}, {}
        for name, split in splits.items():
            if split.labels is None:
                continue
            metrics[name] = found[name].metrics(self.model.fitted_task, split.labels)
            for bins in _bins(found[name], split.labels).values():
                reliability[name] = bins
        self.scores[setting] = {
            "best_epoch": self.model.epochs,
            "metrics": metrics,
            "reliability": reliability,
        }
        if splits:
            table = answer_table(self.model, splits, found)
            named = table.add_column(0, "setting", pa.array([setting] * len(table)))
            self.predictions.append(named)

    def write_predictions(self, file: Path) -> None:
        """Write one row a setting and clip of valid and test."""
        none = [pa.table({"split": pa.array([], pa.string())})]
        write_predictions(self.predictions or none, file)

    def result(
        self, config: dict[str, Any], protocol: dict[str, Any] | None, seen: Dataset
    ) -> Result:
        """The content of `result.json`; `seen` is what subsets are taken of."""
        found = {
            "method": KIND,
            "protocol": protocol,
            "settings": self.scores,
            "subsets": score_subsets(list(self.model.experts), seen, self._scored),
            "modalities": {
                name: {**describe_modality(one), "weight": self.model.weight(name)}
                for name, one in self.model.experts.items()
            },
            "floor": floors(seen),
            "epochs": config["epochs"],
            "parameters": {"backbone": _count(self.model), "imputer": 0},
            "diverged": None,
        }
        return dict(without_nan(found))

    def _scored(self, split: Split, labels: Labels) -> tuple[Labels, dict[str, Any]]:
        found = answers(self.model, split)
        metrics = found.metrics(self.model.fitted_task, labels)
        return found.predictions, {"metrics": metrics, **_bins(found, labels)}


def _bins(found: Answers, labels: Labels) -> dict[str, list[dict[str, float]]]:
    """Bins of confidence beside accuracy, under their name in a result; nothing for numbers."""
    if found.shares is None:
        return {}
    return {"reliability": [asdict(one) for one in reliability_bins(found.shares, labels)]}


def _count(model: Experts) -> int:
    """Numbers that the experts hold."""
    return sum(
        array.size
        for member in model.fitted.members.values()
        for array in member_state(member).values()
    )
