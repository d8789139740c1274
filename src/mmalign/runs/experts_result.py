"""What a run of experts found: scores as the data are, and of every subset, beside floors."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.evaluation.calibration import reliability_bins
from mmalign.evaluation.floors import constant_floor
from mmalign.experts.answers import answer_table, answers
from mmalign.experts.model import Experts
from mmalign.experts.saving import member_state
from mmalign.files import write_atomically
from mmalign.runs.experts_artifact import KIND, describe_modality
from mmalign.runs.records import without_nan
from mmalign.runs.result import SCORED, Result, floors

MOST_MODALITIES = 4
"""Up to so many modalities, all subsets are scored; beyond, each alone and all together."""


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
            shares = found[name].shares
            if shares is not None:
                bins = reliability_bins(shares, split.labels)
                reliability[name] = [asdict(one) for one in bins]
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
        sink = io.BytesIO()
        tables = self.predictions or [pa.table({"split": pa.array([], pa.string())})]
        pq.write_table(pa.concat_tables(tables, promote_options="default"), sink)
        write_atomically(file, sink.getvalue())

    def result(
        self, config: dict[str, Any], protocol: dict[str, Any] | None, seen: Dataset
    ) -> Result:
        """The content of `result.json`; `seen` is what subsets are taken of."""
        found = {
            "method": KIND,
            "protocol": protocol,
            "settings": self.scores,
            "subsets": [self._subset(names, seen) for names in subsets(list(self.model.experts))],
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

    def _subset(self, names: Sequence[str], seen: Dataset) -> dict[str, Any]:
        """What the model scores with these modalities alone, on the clips that have them all."""
        train = seen["train"].labels
        found: dict[str, Any] = {"modalities": list(names)}
        for name in SCORED:
            split = having(seen.splits[name], names) if name in seen.splits else None
            if split is not None and split.labels is not None and train is not None and len(split):
                found[name] = {
                    "clips": len(split),
                    "metrics": self._metrics(split, split.labels),
                    "floor": constant_floor(seen.task, train, split.labels),
                }
        return found

    def _metrics(self, split: Split, labels: Labels) -> dict[str, float]:
        return answers(self.model, split).metrics(self.model.fitted_task, labels)


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All non-empty subsets of a few modalities; of many, each alone and all together.

    >>> list(subsets(["a", "b"]))
    [('a',), ('b',), ('a', 'b')]
    """
    sizes = range(1, len(names) + 1) if len(names) <= MOST_MODALITIES else (1, len(names))
    for size in sizes:
        yield from combinations(names, size)


def having(split: Split, names: Sequence[str]) -> Split:
    """The clips that have all of these modalities, with nothing else."""
    has_all = np.all([split.is_present(name) for name in names], axis=0)
    return split.only(names).select(np.flatnonzero(has_all))


def _count(model: Experts) -> int:
    """Numbers that the experts hold."""
    return sum(
        array.size
        for member in model.fitted.members.values()
        for array in member_state(member).values()
    )


def experts_summary(result: Result) -> str:
    """Scores of every subset in words, for the model card."""
    lines = []
    for found in result["subsets"]:
        for split in SCORED:
            if split in found:
                shown = ", ".join(
                    f"{name} {value:.3f} (floor {floor:.3f})"
                    for name, value in found[split]["metrics"].items()
                    if value is not None
                    and "/" not in name
                    and (floor := found[split]["floor"].get(name)) is not None
                )
                lines.append(f"- {' + '.join(found['modalities'])}, {split}: {shown}")
    if lines:
        lines = ["Asked with these modalities alone, on clips that have them:", "", *lines]
    return "\n".join(lines) + "\n"
