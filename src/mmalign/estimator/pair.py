"""The paper's estimator: every clip has one modality, and may lack the other."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.intake import Clips
from mmalign.data.non_finite import cleaned
from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.errors import ConfigError, no_modality
from mmalign.estimator.cleaning import Cleaning
from mmalign.estimator.clips import first_width, require_modalities
from mmalign.estimator.network import NetworkMMAlign
from mmalign.predictor.features import check_features
from mmalign.predictor.predictor import Predictor, prediction_table
from mmalign.predictor.reader import quick_answers
from mmalign.training.config import Config
from mmalign.training.methods import find_method, see_as_masked, settings_of


class PairMMAlign(NetworkMMAlign):
    """Train the paper's method on clips of which some lack the victim.

    Args:
        visible: Modality that every clip has.
        victim: Modality that may be missing.
        device: `auto`, `cpu`, `cuda`, ….
        non_finite: How to treat NaN and infinity: `reject`, `gap` or `zero`.
        settings: Any field of `mmalign.training.config.Config`, e.g. `window=8`.

    >>> from mmalign import MMAlign
    >>> from mmalign.data import TwinConfig, synthetic_twin
    >>> data = synthetic_twin(TwinConfig(clips=(40, 10, 10))).dataset
    >>> model = MMAlign("visible", "victim", window=4, epochs=1)
    >>> model = model.fit(data["train"], valid=data["valid"])
    >>> model.predict(data["test"]).shape
    (10,)
    """

    def __init__(
        self,
        visible: str,
        victim: str,
        *,
        device: str = "auto",
        non_finite: Cleaning = "reject",
        **settings: Any,
    ) -> None:
        if visible == victim:
            raise ConfigError(f"visible and victim are both {visible!r}; choose two modalities")
        self.visible = visible
        self.victim = victim
        self._start(device, non_finite, settings)

    def _named(self) -> dict[str, Any]:
        return {
            "visible": self.visible,
            "victim": self.victim,
            "device": self.device,
            "non_finite": self.non_finite,
        }

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"MMAlign({self.visible!r}, {self.victim!r}{shown})"

    # --- training -------------------------------------------------------------------------

    @property
    def _targets(self) -> Sequence[str]:
        return (self.victim,)

    def _chosen(self, rows: Split | list[Clip]) -> list[str]:
        names = [self.visible, self.victim]
        require_modalities(rows, names)
        return names

    def _seen(self, splits: Mapping[str, Split], names: list[str], task: Task) -> Dataset:
        see = find_method(self.config.method).see
        clean = {
            name: cleaned(self._pair_of(split), self.non_finite) for name, split in splits.items()
        }
        seen = {name: see(split, *names) for name, split in clean.items()}
        dims = {name: first_width(seen["train"], name) for name in names}
        for split in seen.values():
            check_features(split, dims, visible=self.visible)
        return Dataset(task, dims, seen)

    def _pair_of(self, split: Split) -> Split:
        for name in self.reads:
            if name not in split.sequences:
                raise no_modality(name, split.sequences)
        return split.only(self.reads)

    # --- using a fitted model -------------------------------------------------------------

    @property
    def reads(self) -> tuple[str, ...]:
        """The visible modality and the victim."""
        return self.visible, self.victim

    @property
    def needs(self) -> tuple[str, ...]:
        """The visible modality."""
        return (self.visible,)

    def answers(self, clips: Clips) -> Labels:
        """One answer a clip: a number, or the index of a class.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        if find_method(self.config.method).see is see_as_masked:
            return super().answers(clips)
        return quick_answers(self.fitted, self._features(clips))

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Split, id, prediction, label where known, and whether the victim was there.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        seen = {name: self.prepared(split) for name, split in splits.items()}
        # Some methods show the visible modality in the victim's place: what counts is the clip's.
        present = {name: split.has_any([self.victim]) for name, split in splits.items()}
        return prediction_table(self.fitted, seen, present=present)

    def _checked(self, split: Split) -> Split:
        if self.victim not in split.sequences:
            absent = {**split.sequences, self.victim: [None] * len(split)}
            split = split.with_known_features(sequences=absent)
        see = find_method(self.config.method).see
        seen = see(cleaned(self._pair_of(split), self.non_finite), self.visible, self.victim)
        check_features(seen, self.fitted.features(), visible=self.visible)
        return seen

    @classmethod
    def of(cls, predictor: Predictor, config: Config) -> "PairMMAlign":
        """An estimator around a model that was trained elsewhere."""
        model = cls(predictor.visible, predictor.victim, **settings_of(config))
        model.predictor = predictor
        return model
