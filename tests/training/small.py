"""A dataset and a model that train in a fraction of a second."""

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from mmalign.data import Dataset, Protocol, TwinConfig, synthetic_twin
from mmalign.data.missingness import SETTINGS
from mmalign.predictor.predictor import Predictor
from mmalign.runs.artifact import load_artifact
from mmalign.runs.pair_training import PairTraining
from mmalign.runs.run import Run
from mmalign.training.config import Config

SMALL_TWIN = TwinConfig(clips=(48, 16, 16), shortest=5, longest=8, window=1, symbols=8, dim=6)
PAIR = {"visible": "visible", "victim": "victim"}
IN_PAIR = {"modalities": ("visible", "victim"), "targets": ("victim",)}


def small_dataset() -> Dataset:
    return synthetic_twin(SMALL_TWIN).dataset


def small_config(**changes) -> Config:
    defaults = {"dim": 8, "heads": 2, "window": 2, "batch_size": 16, "epochs": 4, "warm_up": 1}
    return Config(**(defaults | changes))


def small_protocol(**changes) -> Protocol:
    return Protocol(**({**PAIR, "survival": 0.5} | changes))


def small_run(out: Path, *, dataset: Dataset | None = None, **changes) -> Run:
    training = PairTraining(
        dataset=dataset or small_dataset(),
        protocols=changes.pop("protocols", (small_protocol(),)),
        config=small_config(**changes),
    )
    return Run(training, out)


@dataclass(frozen=True)
class Trained:
    """A run in settings A and B: its predictor, for setting A, and what it found."""

    predictor: Predictor
    settings: dict[str, dict]
    history: list[dict]

    def test(self, setting: str) -> dict[str, float]:
        return self.settings[setting]["metrics"]["test"]


def train_both_settings(
    dataset: Dataset, config: Config, *, visible: str, victim: str, survival: float
) -> Trained:
    protocol = Protocol(visible=visible, victim=victim, survival=survival, seed=config.seed)
    protocols = tuple(replace(protocol, setting=setting) for setting in SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = Run(PairTraining(dataset=dataset, protocols=protocols, config=config), out)
        settings = run.execute()["settings"]
        history = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        return Trained(load_artifact(out).predictor, settings, history)


def poisoned(dataset: Dataset, split: str, ids: set[str], modality: str, value: float) -> Dataset:
    """The dataset with every feature of these clips' modality replaced."""
    part = dataset.splits[split]
    column = [
        np.full_like(steps, value) if clip_id in ids else steps
        for clip_id, steps in zip(part.ids, part.sequences[modality], strict=True)
    ]
    changed = replace(part, sequences={**part.sequences, modality: column})
    return replace(dataset, splits={**dataset.splits, split: changed})


def weights(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


torch.set_num_threads(1)
