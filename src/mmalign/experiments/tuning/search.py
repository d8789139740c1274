"""What a search for settings is about; all of it is checked before the first trial."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Protocol
from mmalign.errors import ConfigError, DataError
from mmalign.experiments.tuning.relevance import useless_settings
from mmalign.experiments.tuning.spaces import SPACES, Point, Space, Value
from mmalign.training.config import Config
from mmalign.training.loop import check_trainable
from mmalign.training.methods import configure, find_method, seen_by
from mmalign.version import __version__


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is searched, on what, and how a point is scored.

    Attributes:
        dataset: Train and valid; a test split is dropped here, so that nothing can read it later.
        protocol: Who loses what; each of `seeds` takes the place of its seed.
        settings: Settings that are not searched, the method among them; they win over the space.
        space: Settings that are searched.
        seeds: A point's score is the mean over trainings with these.
        search_seed: Order of a grid, or the sampler's draws.
        device: Where to compute.

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

    def __post_init__(self) -> None:
        splits = {name: self.dataset[name] for name in ("train", "valid")}
        pair = replace(self.dataset, splits=splits).only(
            [self.protocol.visible, self.protocol.victim]
        )
        object.__setattr__(self, "dataset", pair)
        for name, split in splits.items():
            if split.labels is None:
                raise DataError("training needs labels", split=name, fix="Give each clip one.")
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
        for seed in self.seeds:
            check_trainable(
                self.seen(seed),
                self.config_at(narrow),
                visible=self.protocol.visible,
                victim=self.protocol.victim,
            )

    @property
    def method(self) -> str:
        """Who imputes."""
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

    def seen(self, seed: int) -> Dataset:
        """Train and valid as the method sees them under the protocol with this seed."""
        protocol = replace(self.protocol, seed=seed)
        return seen_by(find_method(self.method), self.dataset, protocol.masks(self.dataset))

    def identity(self) -> dict[str, Any]:
        """All that must be equal for a trial to belong to this search."""
        protocol = asdict(self.protocol)
        del protocol["seed"]
        return {
            "mmalign": __version__,
            "torch": str(torch.__version__),
            "device": self.device.type,
            "data": dataset_hash(self.dataset),
            "protocol": protocol,
            "settings": self.fixed,
            "space": self.searched.to_json(),
            "seeds": list(self.seeds),
            "search_seed": self.search_seed,
        }
