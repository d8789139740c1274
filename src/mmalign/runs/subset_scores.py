"""What a model scores when it is asked with a subset of its modalities alone, beside floors."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.evaluation.floors import constant_floor
from mmalign.evaluation.redrawing import clip_errors
from mmalign.runs.result import SCORED, Result

MOST_MODALITIES = 4
"""Up to so many modalities, all subsets are scored; beyond, each alone and all together."""

Score = Callable[[Split, Labels], tuple[Labels, dict[str, Any]]]
"""Predictions for clips of a few modalities and nothing else; `metrics`, and what is beside."""


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All non-empty subsets of a few modalities; of many, each alone and all together.

    >>> list(subsets(["a", "b"]))
    [('a',), ('b',), ('a', 'b')]
    """
    sizes = range(1, len(names) + 1) if len(names) <= MOST_MODALITIES else (1, len(names))
    for size in sizes:
        yield from combinations(names, size)


def score_subsets(names: Sequence[str], seen: Dataset, score: Score) -> list[dict[str, Any]]:
    """Metrics and floors of every subset, on the clips of valid and test that have all of it.

    Beside them stands the error of each test clip: two results can be compared clip by clip.
    """
    return [_score_subset(chosen, seen, score) for chosen in subsets(names)]


def _score_subset(names: Sequence[str], seen: Dataset, score: Score) -> dict[str, Any]:
    train = seen["train"].labels
    found: dict[str, Any] = {"modalities": list(names)}
    for name in SCORED:
        split = having(seen.splits[name], names) if name in seen.splits else None
        if split is not None and split.labels is not None and train is not None and len(split):
            predictions, facts = score(split, split.labels)
            found[name] = {
                "clips": len(split),
                **facts,
                "floor": constant_floor(seen.task, train, split.labels),
            }
            if name == "test":
                found[name]["errors"] = clip_errors(seen.task, predictions, split.labels)
    return found


def having(split: Split, names: Sequence[str]) -> Split:
    """The clips that have all of these modalities, with nothing else."""
    return split.only(names).select(np.flatnonzero(split.has_all(names)))


def subsets_summary(result: Result) -> str:
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
