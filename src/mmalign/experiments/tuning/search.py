"""What a search for settings is about; all of it is checked before the first trial."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Protocol
from mmalign.errors import ConfigError
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site
from mmalign.experiments.source import Source
from mmalign.experiments.tuning.relevance import useless_settings
from mmalign.experiments.tuning.spaces import Point, Space, Value
from mmalign.experiments.tuning.spaces_file import SPACES
from mmalign.training.config import Config
from mmalign.training.methods import configure
from mmalign.version import __version__

SEEN = ("train", "valid")
"""Splits that a search may see."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is searched, on what, and how a point is scored.

    Attributes:
        dataset: Train and valid; a test split is dropped here, so that nothing can read it later.
        protocol: What goes missing; each of `seeds` takes the place of its seed.
        settings: Settings that are not searched, the method among them; they win over the space.
        space: Settings that are searched.
        seeds: A point's score is the mean over trainings with these.
        search_seed: Order of a grid, or the sampler's draws.
        device: Where to compute.
        source: Where worker processes find the data; a search in this process needs none.

    Raises:
        ConfigError: If a setting or a seed makes no sense, or nothing is left to search.
        DataError: If a modality, a split or labels are missing, or a window is too small.
    """

    dataset: Dataset
    protocol: Protocol
    settings: Mapping[str, Value] = field(default_factory=dict)
    space: Space = SPACES["ranges"]
    seeds: tuple[int, ...] = (0,)
    search_seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    source: Source | None = None

    def __post_init__(self) -> None:
        seen = replace(self.dataset, splits={name: self.dataset[name] for name in SEEN})
        seen.require(self.protocol.visible, self.protocol.victim)
        object.__setattr__(self, "dataset", seen)
        self._check_seeds()
        self.searched.check(self.fixed)
        self._check_trainable()

    def _check_seeds(self) -> None:
        if "seed" in self.settings:
            raise ConfigError("seed is not a setting of a search; give its seeds")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be different ones, got {list(self.seeds)}")
        if self.search_seed < 0:
            raise ConfigError(f"the search seed must be >= 0, got {self.search_seed}")
        for seed in self.seeds:
            self.config_at(self.searched.size(self.fixed), seed)

    def _check_trainable(self) -> None:
        """The first trial must not be the one to find that the data cannot be trained on."""
        narrow = {**self.default_point(), **self.searched.size(self.fixed)}
        window = self.searched.dimensions.get("window")
        if window is not None:
            narrow["window"] = min(window.extremes())
        for job in self.jobs_at(narrow):
            job.run(self.dataset, Path()).check()

    @property
    def method(self) -> str:
        """The method whose settings are searched."""
        return str(self.settings.get("method", Config.method))

    @cached_property
    def useless(self) -> dict[str, str]:
        """Settings of the space that the method has no use for, and why."""
        constants = self.space.constants()
        settings = {**constants, **self.settings}
        free = self.space.without(settings)
        return useless_settings(configure({**settings, **free.size(settings)}), free.dimensions)

    @cached_property
    def searched(self) -> Space:
        """The space without what is fixed and what the method has no use for."""
        return self.space.without({**self.space.constants(), **self.settings, **self.useless})

    @cached_property
    def fixed(self) -> dict[str, Value]:
        """All that is not searched, but for the defaults."""
        return {**self.space.constants(), **self.settings, "method": self.method}

    def config_at(self, point: Mapping[str, Value], seed: int = 0) -> Config:
        """The config at a point of the space."""
        return configure({**self.fixed, **point, "seed": seed})

    def default_point(self) -> Point:
        """The point closest to the settings of a plain `mmalign train`."""
        return self.searched.nearest(asdict(configure({"method": self.method})))

    def jobs_at(self, point: Mapping[str, Value]) -> list[Job]:
        """The runs of a trial at this point, one a seed, in the setting of the search."""
        return [
            Job(
                visible=self.protocol.visible,
                victim=self.protocol.victim,
                survival=self.protocol.survival,
                config=self.config_at(point, seed),
                settings=self.protocol.setting,
            )
            for seed in self.seeds
        ]

    @cached_property
    def data_hash(self) -> str:
        """Hash of what the runs see of the data: the pair of modalities."""
        return dataset_hash(self.dataset.only([self.protocol.visible, self.protocol.victim]))

    def site(self, folder: Path) -> Site:
        """What a worker must know to do the runs of this search in a directory."""
        return Site(
            folder.absolute(),
            self.source or Source(""),
            dataset_hash(self.dataset),
            splits=SEEN,
            device=str(self.device),
        )

    def identity(self) -> dict[str, Any]:
        """All that must be equal for a trial to belong to this search."""
        protocol = asdict(self.protocol)
        del protocol["seed"]
        return {
            "mmalign": __version__,
            "torch": str(torch.__version__),
            "device": self.device.type,
            "data": self.data_hash,
            "protocol": protocol,
            "settings": self.fixed,
            "space": self.searched.to_json(),
            "seeds": list(self.seeds),
            "search_seed": self.search_seed,
        }
