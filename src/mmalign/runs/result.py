"""What a run found: scores of each setting's selected epoch, beside the floor."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmalign.data.arrow import parquet_bytes
from mmalign.data.dataset import Dataset
from mmalign.data.task import Labels
from mmalign.evaluation.floors import constant_floor
from mmalign.files import write_atomically
from mmalign.model.backbone import count_parameters
from mmalign.predictor.predictor import prediction_table
from mmalign.runs.records import without_nan
from mmalign.training.loop import Training

RESULT, TIMING, PREDICTIONS = "result.json", "timing.json", "predictions.parquet"
SCORED = ("valid", "test")

Result = dict[str, Any]
"""The content of `result.json`, a function of run and data alone; seconds are in `timing.json`."""


@dataclass
class Outcome:
    """Collects what a finished training scores, one setting after the other.

    Attributes:
        training: The finished training.
        diverged: What ended it early, if anything did.
    """

    training: Training
    diverged: str | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    predictions: list[pa.Table] = field(default_factory=list)

    def score(self, setting: str, seen: Dataset) -> None:
        """Select the setting's epoch and score it; the test split is read here, once."""
        # Scored again: the epoch's record knows nothing of the gate, which is chosen last.
        predictor = self.training.select(setting)
        splits = {name: seen.splits[name] for name in SCORED if name in seen.splits}
        outputs = {name: predictor.outputs(split) for name, split in splits.items()}
        metrics = {
            name: predictor.metrics(outputs[name], split.labels)
            for name, split in splits.items()
            if split.labels is not None
        }
        epoch = self.training.state.selections[setting].best_epoch
        self.scores = {setting: {"best_epoch": epoch, "metrics": metrics}, **self.scores}
        table = prediction_table(predictor, splits, outputs=outputs)
        self.predictions.insert(0, table.add_column(0, "setting", pa.array([setting] * len(table))))

    def result(self, protocol: dict[str, Any] | None, dataset: Dataset) -> Result:
        """The content of `result.json`; the floors are those of the dataset."""
        state = self.training.state
        found = {
            "method": self.training.config.method,
            "protocol": protocol,
            "settings": self.scores,
            "floor": floors(dataset),
            "epochs": len(state.history),
            "parameters": {
                "backbone": sum(count_parameters(m.model.backbone) for m in state.members),
                "imputer": sum(count_parameters(m.model.bank) for m in state.members),
            },
            "diverged": self.diverged,
        }
        return dict(without_nan(found))


def write_predictions(tables: Sequence[pa.Table], file: Path) -> None:
    """Write one row a setting and clip of valid and test."""
    write_atomically(file, parquet_bytes(pa.concat_tables(tables, promote_options="default")))


def floors(dataset: Dataset) -> dict[str, dict[str, float]]:
    """What a constant scores on each split that has labels."""
    train = dataset["train"].labels
    known: dict[str, Labels | None] = {
        name: dataset.splits[name].labels for name in SCORED if name in dataset.splits
    }
    return {
        name: constant_floor(dataset.task, train, labels)
        for name, labels in known.items()
        if labels is not None and train is not None
    }


def summary(result: Result, *, keep: str) -> str:
    """Protocol and scores of a pair in words, for the model card; `keep`: which epoch it is of."""
    protocol = result["protocol"]
    survival = f"Survival rate {protocol['survival']:g}, seed {protocol['seed']}."
    return f"{survival}\n{scores_in_words(result, keep=keep)}"


def scores_in_words(result: Result, *, keep: str) -> str:
    """How far training came, and what the kept epochs score: the `best` ones, or the `last`."""
    lines = []
    if result["diverged"] is not None:
        lines.append(f"Training diverged in epoch {result['epochs'] + 1}: {result['diverged']}")
    for setting, found in result["settings"].items():
        epoch = f"epoch {found['best_epoch']} of {result['epochs']}"
        reason = "the last one" if keep == "last" else "selected on validation"
        lines += ["", f"Setting {setting}, {epoch}, {reason}:", ""]
        for split, metrics in found["metrics"].items():
            shown = ", ".join(
                f"{name} {value:.3f}"
                for name, value in metrics.items()
                if value is not None and "/" not in name
            )
            lines.append(f"- {split}: {shown}")
            floor = result["floor"].get(split, {})
            beside = ", ".join(f"{n} {v:.3f}" for n, v in floor.items() if v and "/" not in n)
            lines += [f"  (a constant: {beside})"] if beside else []
    return "\n".join(lines) + "\n"
