"""A saved network that predicts without torch: what `mmalign predict` asks."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mmalign.data.batching import Watch, unwatched
from mmalign.data.intake import with_labels_that_fit
from mmalign.data.non_finite import cleaned
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.estimator.cleaning import Cleaning, cleaning_of
from mmalign.estimator.contract import MMAlign
from mmalign.evaluation.predictions import answer_table
from mmalign.files import standing_directory
from mmalign.predictor.features import check_features, readable, with_modalities
from mmalign.runs.experts_artifact import is_of_experts
from mmalign.runs.manifest import read_saved

if TYPE_CHECKING:
    from mmalign.runs.reading import Reading

Whole = Callable[[], MMAlign]
"""Loads the whole model."""


class SavedNetwork:
    """Predicts as the whole model does, within 1e-5.

    The whole model is loaded, and torch imported, for clips that are too long and to say what is
    wrong with clips that are refused.

    Args:
        reading: The network.
        non_finite: How it treats NaN and infinity.
        whole: Loads the whole model.
    """

    def __init__(self, reading: "Reading", non_finite: Cleaning, whole: Whole) -> None:
        self._reading = reading
        self._non_finite = non_finite
        self._whole = whole
        self._watch: Watch = unwatched

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities of the network."""
        return tuple(self._reading.features)

    @property
    def dims(self) -> Mapping[str, int]:
        """Features a step of each modality of the network."""
        return self._reading.features

    @property
    def needs(self) -> tuple[str, ...]:
        """The modalities that no clip may lack."""
        return () if self._reading.pair is None else self._reading.pair[:1]

    def watch_with(self, watch: Watch) -> None:
        """Let `watch` see groups of clips go by that are predicted from now on."""
        self._watch = watch

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Predictions, and which modalities each clip had: one row per clip.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        try:
            found = {
                name: self._reading.answers(self._prepared(split), self._watch)
                for name, split in splits.items()
            }
        except DataError:
            found = dict.fromkeys(splits)
        answers = {name: answer for name, answer in found.items() if answer is not None}
        if len(answers) < len(splits):
            return self._whole().table(splits)
        task, pair = self._reading.task, self._reading.pair
        victim = None if pair is None else pair[1]
        # Before any of it was cleaned away.
        present = None if victim is None else {n: s.has_any([victim]) for n, s in splits.items()}
        return answer_table(task, answers, modalities=self.reads, victim=victim, present=present)

    def _prepared(self, split: Split) -> Split:
        features = self._reading.features
        require_known(split, self.reads)
        rows = with_labels_that_fit(split, self.reads, self._reading.task)
        if self._reading.pair is None:
            return readable(rows, features, self._non_finite)
        seen = cleaned(with_modalities(rows, self.reads), self._non_finite)
        check_features(seen, features, visible=self.needs[0])
        return seen


def saved_network(path: str | PathLike[str], whole: Whole) -> SavedNetwork | None:
    """The network in a directory; None where only the whole model can predict.

    Raises:
        CorruptArtifactError: If a file is not as it was written.
        MMAlignError: If there is no finished model.
    """
    saved = read_saved(standing_directory(Path(path)))
    if is_of_experts(saved):
        return None
    from mmalign.runs.reading import reading_of  # which experts need not wait for

    reading = reading_of(saved)
    return None if reading is None else SavedNetwork(reading, cleaning_of(saved), whole)
