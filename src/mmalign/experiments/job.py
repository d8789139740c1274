"""A job: one independent piece of work, known by a hash of all that decides its result."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Protocol
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.runs.experts_training import ExpertsTraining
from mmalign.runs.pair_training import PairTraining
from mmalign.runs.run import Run
from mmalign.training.config import Config, config_from, config_to_json
from mmalign.version import __version__

Kind = Literal["train", "speed"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to do, on which pair of modalities, with which config.

    Attributes:
        kind: What is done: `train` is a run, `speed` times the imputers.
        visible: The visible modality.
        victim: The victim modality.
        survival: Share of training clips that keep the victim; 1 where it makes no difference.
        config: Method, model, training and seed.
        analyses: What is asked of the trained model beside its scores: names of `ANALYSES`.
        settings: Settings that share the training; each selects its own epoch.
    """

    kind: Kind = "train"
    visible: str
    victim: str
    survival: float
    config: Config
    analyses: tuple[str, ...] = ()
    settings: str = "AB"

    def address(self, data_hash: str) -> str:
        """Name of the job's directory: the same work on the same data has the same address.

        What is asked of a trained model changes nothing about its training, and so has no part.
        """
        content = {"mmalign": __version__, "data": data_hash, **self.to_json()}
        del content["analyses"]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Any]:
        """The job as plain values."""
        return {**asdict(self), "config": config_to_json(self.config)}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Job":
        """The job that `to_json` wrote."""
        config = config_from(content["config"])
        return Job(**{**content, "config": config, "analyses": tuple(content["analyses"])})

    def run(self, dataset: Dataset, out: Path, *, device: str = "cpu") -> Run:
        """The run that this job is; experts are one where the config names them."""
        protocol = Protocol(
            visible=self.visible,
            victim=self.victim,
            survival=self.survival,
            seed=self.config.seed,
        )
        protocols = {setting: replace(protocol, setting=setting) for setting in self.settings}
        if self.config.method == EXPERTS:
            return Run(
                ExpertsTraining(
                    dataset=dataset,
                    modalities=(self.visible, self.victim),
                    protocols=protocols,
                    seed=self.config.seed,
                    epochs=self.config.epochs,
                ),
                out,
            )
        training = PairTraining(
            dataset=dataset,
            protocols=tuple(protocols.values()),
            config=self.config,
            device=torch.device(device),
        )
        return Run(training, out)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Where a job's result stands in a suite; several entries may share a job.

    Attributes:
        suite: Which table or figure.
        system: Row of the table, or point of the curve.
        survival: Column of the table; the bounds are trained once and stand in every column.
        job: Whose result it is.
    """

    suite: str
    system: str
    survival: float
    job: Job

    @property
    def shows(self) -> str:
        """What of the job's findings stands here: `scores`, or an analysis or measurement."""
        return self.suite if self.suite in ("speed", "alignment", "case") else "scores"

    @property
    def place(self) -> str:
        """What tells this entry from all others of a grid."""
        job = self.job
        parts = self.suite, self.system, job.visible, job.victim, self.survival, job.config.seed
        return " | ".join(map(str, parts))
