"""What a training says of itself, a line at a time."""

import sys
from typing import Any

from mmalign.errors import counted


def epoch_line(record: dict[str, Any], warm_up: int = 0) -> str:
    """An epoch's record; the validation score stands first, where a narrow screen shows it.

    Args:
        record: What the epoch found.
        warm_up: How many epochs, from the first on, are warm-up.
    """
    shown = []
    for setting, metrics in record["valid"].items():
        name = "mae" if "mae" in metrics else "accuracy"
        clips = "valid" if setting == "valid" else f"valid {setting}"
        shown.append(f"{clips} {name} {metrics[name]:.3f}")
    valid = " ".join(shown)
    losses = " ".join(f"{name} {value:.3f}" for name, value in record["losses"].items())
    mark = " (warm-up)" if record["epoch"] <= warm_up else ""
    return f"epoch {record['epoch']}{mark}: {valid} | {losses}"


def kept_line(epochs: int) -> str:
    """What is left of a training that broke off after so many epochs."""
    if not epochs:
        return "No epoch was finished: nothing of it is kept."
    return f"Kept the best of {counted(epochs, 'finished epoch')}."


def modality_line(name: str, clips: int, skill: float) -> str:
    """What is known of a modality whose experts have learned."""
    return f"{name}: {clips} clips, skill {skill:.2f}"


def say(text: str) -> None:
    """Write a line for people, beside a program's output."""
    sys.stderr.write(f"{text}\n")
