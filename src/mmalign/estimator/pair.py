"""The paper's estimator: one modality is always there, one may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from mmalign.data.dataset import Dataset
from mmalign.data.intake import Clips, gathered, labelled, task_of, with_labels_that_fit
from mmalign.data.missingness import surviving_ids
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import ConfigError, DataError, MMAlignError, located
from mmalign.estimator.contract import Groups, MMAlign
from mmalign.predictor.device import choose_device
from mmalign.predictor.features import check_features
from mmalign.predictor.plans import dense_plans, imputed_steps
from mmalign.predictor.predictor import Predictor, Watch, prediction_table
from mmalign.runs.artifact import Artifact, artifact_of
from mmalign.runs.manifest import Saved
from mmalign.training.config import Config, config_to_json
from mmalign.training.loop import Training
from mmalign.training.losses import TrainingError
from mmalign.training.methods import configure, find_method, settings_of

VALIDATION_SHARE = 0.15


class PairMMAlign(MMAlign):
    """Trains on clips of which some lack the victim, and predicts on clips of either kind.

    Args:
        visible: The modality that is always there.
        victim: The modality that may be missing.
        device: `auto`, `cpu`, `cuda`, ….
        settings: Any field of `mmalign.training.config.Config`, e.g. `window=8`.

    >>> from mmalign.data import TwinConfig, synthetic_twin
    >>> data = synthetic_twin(TwinConfig(clips=(40, 10, 10))).dataset
    >>> model = MMAlign("visible", "victim", window=4, epochs=1).fit(data["train"], data["valid"])
    >>> model.predict(data["test"]).shape
    (10,)
    """

    def __init__(self, visible: str, victim: str, *, device: str = "auto", **settings: Any) -> None:
        if visible == victim:
            raise ConfigError(f"visible and victim are both {visible!r}; choose two modalities")
        self.visible = visible
        self.victim = victim
        self.device = device
        self.settings = settings
        self.config = configure(settings)
        self.predictor: Predictor | None = None
        self.history: list[dict[str, Any]] = []

    # --- scikit-learn's manners -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """All constructor arguments, as `sklearn.base.clone` wants them."""
        pair = {"visible": self.visible, "victim": self.victim, "device": self.device}
        return {**pair, **config_to_json(self.config)}

    def arguments(self) -> dict[str, Any]:
        """The pair, the device, and the settings that were asked for."""
        pair = {"visible": self.visible, "victim": self.victim, "device": self.device}
        return {**pair, **self.settings}

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"MMAlign({self.visible!r}, {self.victim!r}{shown})"

    # --- training -------------------------------------------------------------------------

    def fit(
        self, train: Clips | Dataset, valid: Clips | None = None, groups: Groups | None = None
    ) -> "PairMMAlign":
        """Learn from clips, complete and incomplete ones; keep the epoch that validates best.

        Args:
            train: Training clips, or a dataset with `train` and perhaps `valid`.
            valid: Validation clips; without them, 15 % of the training clips are set aside.
                Their classes are compared by name.
            groups: From a clip's id to its person or video: a group is set aside as a whole.
                Without it, as the data tells.

        Raises:
            DataError: If a modality or the labels are not in the clips, or validation clips have
                labels that training clips cannot have.
            TrainingError: If a loss is not finite; the best epoch before it, if any, is kept.
        """
        if isinstance(train, Dataset):
            valid = valid if valid is not None or "valid" not in train.splits else train["valid"]
            train = train["train"]
        dataset = self._to_learn_from(train, valid, groups)
        training = Training(
            dataset,
            self.config,
            modalities=(self.visible, self.victim),
            targets=(self.victim,),
            validations={"valid": dataset["valid"]},
            device=choose_device(self.device),
        )
        try:
            training.run()
        except TrainingError as error:
            raise TrainingError(f"{error} {self._keep_what_there_is(training)}") from error
        self._keep_best(training)
        return self

    def _keep_best(self, training: Training) -> None:
        self.predictor, self.history = training.select("valid"), training.state.history

    def _keep_what_there_is(self, training: Training) -> str:
        """Keep the best epoch of a training that broke off; tells what was kept."""
        epochs = len(training.state.history)
        if epochs == 0:
            return "No epoch was finished: nothing of it is kept."
        self._keep_best(training)
        return f"Kept the best of {epochs} finished epoch{'s' if epochs > 1 else ''}."

    def _to_learn_from(self, train: Clips, valid: Clips | None, groups: Groups | None) -> Dataset:
        """Both splits as the method sees them, their labels in the same terms."""
        rows = gathered(train)
        task = task_of(rows)
        known = self._labelled("train", rows, task)
        if valid is None:
            known, held_out = _set_aside(known, self.config.seed, groups)
        else:
            held_out = self._labelled("valid", valid, task)
        return self._seen({"train": known, "valid": held_out}, task)

    def _labelled(self, name: str, clips: Clips, task: Task) -> Split:
        with located(split=name):
            return labelled(clips, [self.visible, self.victim], task)

    def _seen(self, splits: Mapping[str, Split], task: Task) -> Dataset:
        see = find_method(self.config.method).see
        seen = {
            name: see(self._pair_of(split), self.visible, self.victim)
            for name, split in splits.items()
        }
        dims = {name: _dim(seen["train"], name) for name in (self.visible, self.victim)}
        for split in seen.values():
            check_features(split, dims, visible=self.visible)
        return Dataset(task, dims, seen)

    def _pair_of(self, split: Split) -> Split:
        for name in (self.visible, self.victim):
            if name not in split.sequences:
                raise DataError(
                    f"there is no modality {name!r}",
                    fix=f"These clips have {', '.join(split.sequences)}.",
                )
        return split.only([self.visible, self.victim])

    # --- using a fitted model -------------------------------------------------------------

    @property
    def fitted(self) -> Predictor:
        """What predicts.

        Raises:
            MMAlignError: If the model is not fitted yet.
        """
        if self.predictor is None:
            raise MMAlignError("this model is not fitted. Call fit(train, valid=…) first.")
        return self.predictor

    @property
    def task(self) -> Task | None:
        """What is predicted; none before `fit`."""
        return None if self.predictor is None else self.predictor.task

    def predict(self, clips: Clips) -> Labels:
        """One prediction a clip: a number, or the index of a class in `classes_`.

        Labels are not looked at: clips may have any, or none.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        return self.fitted.to_labels(self.fitted.outputs(self.prepared(clips)))

    def predict_proba(self, clips: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
            MMAlignError: If the task is regression.
        """
        if not isinstance(self.fitted.task, Classification):
            raise MMAlignError("probabilities need a classification task. Use predict.")
        shares: Float[np.ndarray, "clips classes"] = (
            self.fitted.outputs(self.prepared(clips)).softmax(dim=-1).numpy()
        )
        return shares

    def score(self, clips: Clips) -> dict[str, float]:
        """The task's metrics on labelled clips; classes are compared by name.

        Raises:
            DataError: If a clip has no label, or one that the model does not know, or an output is
                not finite.
        """
        split = labelled(clips, [self.visible, self.victim], self.fitted.task)
        return self.fitted.evaluate(self.prepared(split))

    def impute(self, clips: Clips) -> list[Float[np.ndarray, "_ _"]]:
        """The hidden steps `[time, dim]` that would stand in for the victim, clip by clip.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        return imputed_steps(self.fitted, self.prepared(clips))

    def align(self, clips: Clips) -> list[Float[np.ndarray, "_ _"]]:
        """One dense plan `[visible time, victim time]` a clip.

        The solver's where the clip has its victim, the fitter's prediction where it has not.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
            MMAlignError: If the method does not align.
        """
        if not find_method(self.config.method).is_aligned:
            raise MMAlignError(f"method {self.config.method!r} does not align modalities")
        return dense_plans(self.fitted, self.prepared(clips))

    @property
    def reads(self) -> tuple[str, ...]:
        """The visible modality and the victim."""
        return self.visible, self.victim

    @property
    def needs(self) -> tuple[str, ...]:
        """The visible modality."""
        return (self.visible,)

    @property
    def is_masked(self) -> bool:
        """Whether the method is meant for clips as a protocol's masks leave them."""
        return find_method(self.config.method).is_masked

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Split, id, prediction, label where known, and whether the victim was there.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        seen = {name: self.prepared(split) for name, split in splits.items()}
        # Some methods show the visible modality in the victim's place: what counts is the clip's.
        nowhere = {name: np.zeros(len(split), bool) for name, split in splits.items()}
        present = {
            name: split.is_present(self.victim) if self.victim in split.sequences else nowhere[name]
            for name, split in splits.items()
        }
        return prediction_table(self.fitted, seen, present=present)

    def watch_with(self, watch: Watch) -> None:
        """Let `watch` see the batches go by that are predicted from now on."""
        self.predictor = replace(self.fitted, watch=watch)

    def prepared(self, clips: Clips) -> Split:
        """The clips as the model sees them: checked, and its two modalities only.

        A victim that no clip has need not be there at all. Labels are left out unless all of them
        are in the terms of the model's task.

        Raises:
            DataError: If the visible modality is missing, or features do not fit the model.
        """
        pair = [self.visible, self.victim]
        split = with_labels_that_fit(clips, pair, self.fitted.task)
        if self.victim not in split.sequences:
            absent = {**split.sequences, self.victim: [None] * len(split)}
            split = split.with_known_features(sequences=absent)
        see = find_method(self.config.method).see
        seen = see(self._pair_of(split), self.visible, self.victim)
        check_features(seen, self.fitted.features(), visible=self.visible)
        return seen

    # --- files ----------------------------------------------------------------------------

    def saved(self) -> Saved:
        """The model as it is written.

        Raises:
            MMAlignError: If it is not fitted.
        """
        return Artifact(self.fitted, self.config).saved()

    @classmethod
    def restored(cls, saved: Saved, folder: Path, *, device: str) -> "PairMMAlign":
        """The model that `saved` gave, on a device.

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If it gave something else.
        """
        place = choose_device(device)
        artifact = artifact_of(saved, folder)
        artifact.predictor.model.to(place)
        model = cls.of(artifact.predictor, artifact.config)
        model.device = device
        return model

    @classmethod
    def of(cls, predictor: Predictor, config: Config) -> "PairMMAlign":
        """An estimator around a model that was trained elsewhere."""
        model = cls(predictor.visible, predictor.victim, **settings_of(config))
        model.predictor = predictor
        return model


def _dim(split: Split, modality: str) -> int:
    for steps in split.sequences[modality]:
        if steps is not None:
            return int(steps.shape[1])
    raise DataError(
        "no training clip has the modality", modality=modality, fix="Give some that have it."
    )


def _set_aside(train: Split, seed: int, groups: Groups | None = None) -> tuple[Split, Split]:
    """Training and validation clips, chosen by a hash of their ids, or of their groups.

    The ids are salted: a protocol's survivors, drawn by the same hash, would all be chosen.
    """
    salted = [f"validation:{unit}" for unit in _whole_units(train, groups)]
    units = list(dict.fromkeys(salted))
    if len(units) < 2:
        raise DataError(
            "there is nothing to set aside for validation",
            fix="Give valid=…, or clips of two groups or more.",
        )
    count = max(1, int(VALIDATION_SHARE * len(units)))
    chosen = surviving_ids(units, count=count, seed=seed)
    is_valid = np.array([unit in chosen for unit in salted])
    return train.select(np.flatnonzero(~is_valid)), train.select(np.flatnonzero(is_valid))


def _whole_units(train: Split, groups: Groups | None) -> Sequence[str]:
    """What is set aside as a whole, clip by clip: groups where there are several, or the clip."""
    if groups is not None:
        return [groups(clip_id) for clip_id in train.ids]
    return train.groups if train.groups and len(set(train.groups)) > 1 else train.ids
