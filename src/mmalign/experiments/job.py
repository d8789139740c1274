"""A job: one independent piece of work, known by a hash of all that decides its result."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mmalign.training.config import Config, config_from, config_to_json
from mmalign.version import __version__

Kind = Literal["train", "speed", "alignment", "case"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to do, on which pair of modalities, with which config.

    Attributes:
        kind: What is done: `train` scores settings A and B of one training run, `speed` times the
            imputer, `alignment` averages plans, `case` takes one clip apart.
        visible: The visible modality.
        victim: The victim modality.
        survival: Share of training clips that keep the victim; 1 where it makes no difference.
        config: Method, model, training and seed.
        clip: Id of the clip of a `case`; empty elsewhere.
    """

    kind: Kind = "train"
    visible: str
    victim: str
    survival: float
    config: Config
    clip: str = ""

    def address(self, data_hash: str) -> str:
        """Name of the job's directory: the same work on the same data has the same address."""
        content = {"mmalign": __version__, "data": data_hash, **self.to_json()}
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Any]:
        """The job as plain values."""
        return {**asdict(self), "config": config_to_json(self.config)}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Job":
        """The job that `to_json` wrote."""
        return Job(**{**content, "config": config_from(content["config"])})


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
    def place(self) -> str:
        """What tells this entry from all others of a grid."""
        job = self.job
        parts = self.suite, self.system, job.visible, job.victim, self.survival, job.config.seed
        return " | ".join(map(str, parts))
