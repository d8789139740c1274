"""A job: one independent piece of work, known by a hash of all that decides its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import GapProtocol, Missingness, Protocol, RandomMissing
from mmalign.experiments.anchors.training import AnchorTraining
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.runs.experts_training import ExpertsTraining
from mmalign.runs.pair_training import PairTraining
from mmalign.runs.run import Run, Trainee
from mmalign.training.config import Config, config_from, config_to_json
from mmalign.version import __version__

Kind = Literal["train", "speed"]
RANDOM, GAPS = "random", "gaps"
"""What is taken away from modalities: all of one, or runs of steps."""

GAP_LENGTH = 5
"""Mean length of a run of missing steps."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to do, on which modalities, with which config.

    A job is of a pair, the paper's, or of `modalities` any of which may be missing.

    Attributes:
        kind: What is done: `train` is a run, `speed` times the imputers.
        visible: The visible modality of a pair.
        victim: The victim modality of a pair.
        survival: Share of training clips that keep the victim; 1 where it makes no difference.
        config: Method, model, training and seed.
        analyses: What is asked of the trained model beside its scores: names of `ANALYSES`.
        settings: Settings that share the training; each selects its own epoch.
        modalities: What is used where there is no pair.
        missing: What is taken away at the rates: `random`, whole modalities, or `gaps`, steps.
        rates: Missing rates: training is at the first, the model is asked at each.
    """

    kind: Kind = "train"
    visible: str = ""
    victim: str = ""
    survival: float = 1.0
    config: Config
    analyses: tuple[str, ...] = ()
    settings: str = "AB"
    modalities: tuple[str, ...] = ()
    missing: str = ""
    rates: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The modalities that it uses."""
        return self.modalities or (self.visible, self.victim)

    @property
    def where(self) -> tuple[str, str]:
        """Visible and victim; or all modalities, and what is missing of them."""
        if not self.modalities:
            return self.visible, self.victim
        rates = ", ".join(f"{rate:g}" for rate in self.rates)
        return "+".join(self.modalities), f"{self.missing} {rates}".strip()

    def address(self, data_hash: str) -> str:
        """Name of the job's directory: the same work on the same data has the same address.

        What is asked of a trained model changes nothing about its training, and so has no part.
        """
        content = {"mmalign": __version__, "data": data_hash, **self.to_json()}
        del content["analyses"]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Any]:
        """The job as plain values; one of a pair says nothing of other modalities."""
        content = {**asdict(self), "config": config_to_json(self.config)}
        unsaid = () if self.modalities else ("modalities", "missing", "rates")
        return {name: value for name, value in content.items() if name not in unsaid}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Job":
        """The job that `to_json` wrote."""
        config = config_from(content["config"])
        lists = {name: tuple(content.get(name, ())) for name in ("analyses", "modalities", "rates")}
        return Job(**{**content, **lists, "config": config})

    def run(self, dataset: Dataset, out: Path, *, device: str = "cpu") -> Run:
        """The run that this job is."""
        return Run(self._trainee(dataset, device), out)

    def _trainee(self, dataset: Dataset, device: str) -> Trainee:
        """What is trained: experts where the config names them, a pair, or an anchor."""
        protocols = self._protocols()
        if self.config.method == EXPERTS:
            return ExpertsTraining(
                dataset=dataset,
                modalities=self.names,
                protocols=protocols,
                seed=self.config.seed,
                epochs=self.config.epochs,
                members=self.config.members,
            )
        if self.modalities:
            return AnchorTraining(
                dataset=dataset,
                modalities=self.modalities,
                protocols=protocols,
                config=self.config,
            )
        return PairTraining(
            dataset=dataset,
            protocols=tuple(self._pair_protocols().values()),
            config=self.config,
            device=torch.device(device),
        )

    def _protocols(self) -> Mapping[str, Missingness]:
        """What goes missing, by setting; a rate is a setting of its own."""
        if not self.modalities:
            return self._pair_protocols()
        return {f"{rate:g}": self._protocol(rate) for rate in self.rates}

    def _protocol(self, rate: float) -> Missingness:
        if self.missing == GAPS:
            return GapProtocol(rate=rate, mean_length=GAP_LENGTH, seed=self.config.seed)
        return RandomMissing(rate=rate, seed=self.config.seed)

    def _pair_protocols(self) -> dict[str, Protocol]:
        protocol = Protocol(
            visible=self.visible,
            victim=self.victim,
            survival=self.survival,
            seed=self.config.seed,
        )
        return {setting: replace(protocol, setting=setting) for setting in self.settings}


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
        if self.job.modalities:
            return "rates" if self.job.rates else "subsets"
        return self.suite if self.suite in ("speed", "alignment", "case") else "scores"

    @property
    def about(self) -> str:
        """Modalities and what is missing of them, in words."""
        first, second = self.job.where
        if self.job.modalities:
            return f"{first}, {second}" if second else first
        return f"{first}:{second}, survival {self.survival:g}"

    @property
    def place(self) -> str:
        """What tells this entry from all others of a grid."""
        job = self.job
        parts = self.suite, self.system, *job.where, self.survival, job.config.seed
        return " | ".join(map(str, parts))
