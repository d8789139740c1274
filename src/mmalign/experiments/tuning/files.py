"""Files that a search writes: the best settings and all trials."""

import json
import math
from pathlib import Path
from typing import Any

from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.trial import Trial
from mmalign.files import csv_bytes, write_atomically
from mmalign.training.config import config_to_json


def write_best(search: Search, best: Trial, file: Path) -> None:
    """Write the best settings, all of them, for `mmalign train --config`."""
    settings = config_to_json(search.config_at(best.point))
    del settings["seed"]
    protocol = search.protocol
    seeds = ", ".join(map(str, search.seeds))
    comments = [
        f"Trial {best.number}: validation score {best.score:.4f}, mean over the seeds {seeds}.",
        f"mmalign train DATA --visible {protocol.visible} --victim {protocol.victim} "
        f"--survival {protocol.survival:g} --setting {protocol.setting} "
        f"--config {file.name} --seed {search.seeds[0]} --out RUN",
    ]
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    write_atomically(file, ("\n".join(lines) + "\n").encode())


def write_trials(trials: list[Trial], settings: list[str], file: Path) -> None:
    """Write one row a trial: what became of it, then its settings."""
    columns = ["number", "state", "score", "loss", "seconds", *settings, "error"]
    rows = map(_row, trials)
    write_atomically(file, csv_bytes(columns, ([row.get(c) for c in columns] for row in rows)))


def _row(trial: Trial) -> dict[str, Any]:
    numbers = {"score": trial.score, "loss": trial.loss, "seconds": round(trial.seconds, 2)}
    known = {name: value for name, value in numbers.items() if not math.isnan(value)}
    shared = {"number": trial.number, "state": trial.state, "error": trial.error}
    return {**shared, **known, **trial.point}
