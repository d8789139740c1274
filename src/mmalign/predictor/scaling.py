"""How the features of a modality are brought to one size: chosen by name, or by a look at them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mmalign.data.clip import StepsColumn
from mmalign.data.gaps import observed_in
from mmalign.data.inputs import is_smooth
from mmalign.data.moments import moments
from mmalign.data.split import Split
from mmalign.errors import ConfigError, suggestion

ONE_UNIT = 10.0
"""Channels whose spreads differ by more than this are measured in different units."""

LOOKED_AT = 1000
"""Clips that tell whether a modality is smooth."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """What is done to the features of a modality; the defaults are the paper's rows (design E20).

    Attributes:
        centre: Whether each clip loses its own mean: where somebody stood, how a wrist was tilted.
        own_scale: Whether each feature has its own scale; else the modality has one for all.
        differences: Whether first differences over time stand beside the features.
    """

    centre: bool = False
    own_scale: bool = True
    differences: bool = False

    @property
    def in_words(self) -> str:
        """For people who read a model card.

        >>> Scaling(centre=True, differences=True).in_words
        'each clip centred, a scale for each feature, with differences'
        """
        parts = (
            "each clip centred" if self.centre else "",
            "a scale for each feature" if self.own_scale else "one scale for all features",
            "with differences" if self.differences else "",
        )
        return ", ".join(part for part in parts if part)

    def width(self, features: int) -> int:
        """Numbers a step once differences stand beside the features."""
        return 2 * features if self.differences else features


AS_PRINTED = Scaling()


@dataclass(frozen=True, kw_only=True)
class ScalingConfig:
    """What is wanted of all modalities: `none`, `auto`, or names with commas between them.

    Attributes:
        centre: Modalities whose clips lose their own means; `auto` takes those that are smooth.
        scale: `own` for each feature, `common` for each modality, or `auto`: common unless units
            differ.
        differences: Modalities that get differences; `auto` takes those that are smooth.
    """

    centre: str
    scale: str
    differences: str

    def choose(self, train: Split, modalities: Sequence[str]) -> dict[str, Scaling]:
        """The scaling of each modality, from the training clips that have it.

        Raises:
            ConfigError: If a modality is named that is not there.
        """
        _require_known({"centre": self.centre, "differences": self.differences}, modalities)
        return {name: self._of(name, train.sequences[name]) for name in modalities}

    def _of(self, modality: str, column: StepsColumn) -> Scaling:
        smooth = "auto" in (self.centre, self.differences) and looks_smooth(column)
        return Scaling(
            centre=_is_chosen(self.centre, modality, smooth=smooth),
            own_scale=self.scale == "own" or (self.scale == "auto" and has_many_units(column)),
            differences=_is_chosen(self.differences, modality, smooth=smooth),
        )


def _is_chosen(wanted: str, modality: str, *, smooth: bool) -> bool:
    return smooth if wanted == "auto" else modality in _named(wanted)


def _named(wanted: str) -> list[str]:
    return [] if wanted in ("none", "auto") else [name.strip() for name in wanted.split(",")]


def _require_known(wanted: Mapping[str, str], modalities: Collection[str]) -> None:
    problems = [
        f"{setting} names {name!r}, which is not read; {suggestion(name, modalities)}"
        for setting, value in wanted.items()
        for name in _named(value)
        if name not in modalities
    ]
    if problems:
        raise ConfigError(problems)


def looks_smooth(column: StepsColumn) -> bool:
    """Whether neighbouring steps are alike: a signal, not a list of words."""
    there = (steps for steps in column if steps is not None)
    clips = [steps[observed_in(steps)] for steps in islice(there, LOOKED_AT)]
    clips = [steps for steps in clips if len(steps)]
    return bool(clips) and is_smooth(clips)


def has_many_units(column: StepsColumn) -> bool:
    """Whether spreads differ by more than `ONE_UNIT`, the extreme tenths of the features aside."""
    found = moments(column)
    if found is None:
        return False
    spread = np.sqrt(found.variance)
    spread = spread[spread > np.abs(found.mean) * np.finfo(np.float32).eps]
    if not len(spread):
        return False
    low, high = np.quantile(spread, (0.1, 0.9))
    return bool(high > ONE_UNIT * low)
