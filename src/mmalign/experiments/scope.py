"""How far suites reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mmalign.errors import ConfigError
from mmalign.experiments.systems import (
    SYSTEMS,
    USUAL,
    Settings,
    find_candidates,
    find_systems,
)
from mmalign.experts.contract import EPOCHS

SHARED = ("epochs", "members")
"""Settings that networks and experts have in common."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """How far a suite reaches.

    Attributes:
        pairs: Ordered pairs of visible and victim.
        survivals: Shares of training clips that keep the victim.
        seeds: One run each; differences are paired over them.
        systems: Rows of the main table, by title: their settings.
        settings: What is set for every run; a system's own settings win.
        modalities: Those whose subsets are asked about; all of the data's if there are none.
        candidates: Systems that answer for subsets, by title: their settings.
        rates: Missing rates of whole modalities and of steps; the suites' own if there are none.
    """

    pairs: Sequence[tuple[str, str]]
    survivals: Sequence[float] = (0.1, 0.5)
    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    systems: Mapping[str, Settings] = field(default_factory=lambda: find_systems(SYSTEMS))
    settings: Settings = field(default_factory=dict)
    modalities: Sequence[str] = ()
    candidates: Mapping[str, Settings] = field(default_factory=lambda: find_candidates(USUAL))
    rates: Sequence[float] = ()

    @property
    def experts_settings(self) -> Settings:
        """What experts have of the settings of every run; the others are of the paper's network."""
        own = {name: self.settings[name] for name in SHARED if name in self.settings}
        return {"epochs": EPOCHS, **own}

    def __post_init__(self) -> None:
        problems = [
            f"a survival rate lies in (0, 1], got {s}" for s in self.survivals if not 0 < s <= 1
        ]
        for name in ("pairs", "survivals", "seeds", "systems"):
            values = list(getattr(self, name))
            if not values:
                problems.append(f"there must be at least one of {name}")
            if len(set(values)) < len(values):
                problems.append(f"{name} are given twice: {values}")
        problems += [
            f"a missing rate lies in [0, 1), got {rate}" for rate in self.rates if not 0 <= rate < 1
        ]
        if len(set(self.rates)) < len(self.rates):
            problems.append(f"missing rates are given twice: {list(self.rates)}")
        if len(set(self.modalities)) < len(self.modalities):
            problems.append(f"modalities are given twice: {list(self.modalities)}")
        problems += [
            f"{name} is not a setting of a suite: use --{name}s"
            for name in ("method", "seed")
            if name in self.settings
        ]
        if problems:
            raise ConfigError(problems)
