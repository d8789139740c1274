"""The paper's network for any number of modalities, any of which may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from mmalign.data.batching import Watch
from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.grouping import Groups, with_groups
from mmalign.data.intake import (
    Clips,
    features_of,
    gathered,
    modalities_in,
    relabelled,
    task_of,
    with_labels_that_fit,
)
from mmalign.data.non_finite import cleaned
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import ConfigError, MMAlignError, located
from mmalign.estimator.cleaning import Cleaning, known_cleaning
from mmalign.estimator.clips import (
    first_width,
    labelled_split,
    modality_problems,
    require_modalities,
    set_aside,
)
from mmalign.estimator.contract import MMAlign
from mmalign.estimator.lines import epoch_line, kept_line, say
from mmalign.estimator.threads import on_one_thread
from mmalign.imputers import Direction
from mmalign.predictor.device import choose_device
from mmalign.predictor.features import check_any, readable, with_modalities
from mmalign.predictor.plans import chosen_direction, dense_plans, imputed_steps
from mmalign.predictor.predictor import Predictor, prediction_table
from mmalign.predictor.reader import answers_to, quick_outputs
from mmalign.runs.artifact import Artifact, artifact_of
from mmalign.runs.manifest import Saved
from mmalign.training.config import Config, config_to_json
from mmalign.training.loop import Training
from mmalign.training.losses import TrainingError
from mmalign.training.methods import configure, find_method, seen_subset, settings_of


class NetworkMMAlign(MMAlign):
    """Train the paper's network on clips that may lack any of the modalities.

    Args:
        modalities: Modalities to use. Default: all that the training clips have.
        device: `auto`, `cpu`, `cuda`, ….
        non_finite: How to treat NaN and infinity: `reject`, `gap` or `zero`.
        settings: Any field of `mmalign.training.config.Config`, e.g. `window=8`.

    >>> from mmalign.data.joint_twin import JointTwinConfig, joint_twin
    >>> data = joint_twin(JointTwinConfig(clips=(24, 8, 8)))
    >>> model = MMAlign(method="mmalign", epochs=1, warm_up=0).fit(data)
    >>> model.predict(data["test"].without("m2", data["test"].ids)).shape
    (8,)
    """

    def __init__(
        self,
        *,
        modalities: Sequence[str] | None = None,
        device: str = "auto",
        non_finite: Cleaning = "reject",
        **settings: Any,
    ) -> None:
        problems = modality_problems(modalities)
        if problems:
            raise ConfigError(problems)
        self.modalities = None if modalities is None else list(modalities)
        self._start(device, non_finite, settings)

    def _start(self, device: str, non_finite: Cleaning, settings: dict[str, Any]) -> None:
        self.device = device
        self.non_finite = known_cleaning(non_finite)
        self.settings = settings
        self.config = configure(settings)
        self.predictor: Predictor | None = None
        self.history: list[dict[str, Any]] = []

    def _named(self) -> dict[str, Any]:
        """The arguments that are not settings."""
        return {"modalities": self.modalities, "device": self.device, "non_finite": self.non_finite}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """All constructor arguments, as scikit-learn expects them."""
        return {**self._named(), **config_to_json(self.config)}

    def arguments(self) -> dict[str, Any]:
        """What is read, the device, and the settings that were asked for."""
        return {**self._named(), **self.settings}

    def __repr__(self) -> str:
        shown = {"modalities": self.modalities, **self.settings}
        return f"MMAlign({', '.join(f'{n}={v!r}' for n, v in shown.items() if v is not None)})"

    # --- training -------------------------------------------------------------------------

    @on_one_thread()
    def fit(
        self,
        X: Clips | Dataset,
        y: Any = None,
        *,
        valid: Clips | None = None,
        groups: Groups | None = None,
        verbose: bool = False,
    ) -> "NetworkMMAlign":
        """Train on one thread (unless OMP_NUM_THREADS is set), and keep the best epoch.

        Args:
            X: Training clips, or a dataset with `train` and optionally `valid`.
            y: One label per clip. Default: the labels that the clips carry.
            valid: Validation clips. Default: 15 % of the training clips are set aside.
            groups: The person or video of each clip, one per clip, or a function from a clip's id
                to it; it is set aside as a whole. Default: the groups that the clips carry.
            verbose: Whether to print the scores of each epoch to stderr.

        Raises:
            DataError: If a modality or the labels are not in the clips, groups are not one per
                clip, or validation clips have labels that training clips cannot have.
            TrainingError: If a loss is not finite; the best epoch before it, if any, is kept.
        """
        if isinstance(X, Dataset):
            valid = valid if valid is not None or "valid" not in X.splits else X["valid"]
            X = X["train"]
        dataset = self._to_learn_from(X if y is None else relabelled(X, y), valid, groups)
        training = Training(
            dataset,
            self.config,
            modalities=tuple(dataset.dims),
            targets=self._targets,
            validations={"valid": dataset["valid"]},
            device=choose_device(self.device),
        )
        warm_up = self.config.warm_up_epochs
        try:
            training.run(lambda record: say(epoch_line(record, warm_up)) if verbose else None)
        except TrainingError as error:
            epochs = len(training.state.history)
            if epochs:
                self._keep_best(training)
            raise TrainingError(f"{error} {kept_line(epochs)}") from error
        self._keep_best(training)
        return self

    def _keep_best(self, training: Training) -> None:
        self.predictor, self.history = training.select("valid"), training.state.history

    def _to_learn_from(self, train: Clips, valid: Clips | None, groups: Groups | None) -> Dataset:
        """Both splits as the method sees them, their labels in the same terms."""
        with located(split="train"):
            rows = with_groups(gathered(train), groups)
        task, names = task_of(rows), self._chosen(rows)
        known = labelled_split("train", rows, names, task)
        if valid is None:
            told = None if groups is None else known.groups
            known, held_out = set_aside(known, self.config.seed, told)
        else:
            held_out = labelled_split("valid", valid, names, task)
        return self._seen({"train": known, "valid": held_out}, names, task)

    @property
    def _targets(self) -> Sequence[str] | None:
        """What may have to be imputed, if the arguments say it."""
        return None

    def _chosen(self, rows: Split | list[Clip]) -> list[str]:
        """The modalities to read, in the model's order; by name unless they were chosen."""
        if self.modalities is None:
            return sorted(modalities_in(rows))
        require_modalities(rows, self.modalities)
        return self.modalities

    def _seen(self, splits: Mapping[str, Split], names: list[str], task: Task) -> Dataset:
        shown = {n: cleaned(with_modalities(s, names), self.non_finite) for n, s in splits.items()}
        dims = {name: first_width(shown["train"], name) for name in names}
        for name, split in shown.items():
            with located(split=name):
                check_any(split, dims)
        return seen_subset(find_method(self.config.method), Dataset(task, dims, shown), names)

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

    def answers(self, clips: Clips) -> Labels:
        """One answer a clip: a number, or the index of a class.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        return answers_to(self.fitted, self.known(clips), self.needs, self._features)

    def predict_proba(self, X: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
            MMAlignError: If the task is regression.
        """
        if not isinstance(self.fitted.task, Classification):
            raise MMAlignError("probabilities need a classification task. Use predict.")
        return np.asarray(quick_outputs(self.fitted, self._features(X)).softmax(dim=-1))

    def evaluated(self, split: Split) -> dict[str, float]:
        """All metrics of the task on prepared clips."""
        return self.fitted.evaluate(split)

    def impute(self, clips: Clips, target: str | None = None) -> list[Float[np.ndarray, "_ _"]]:
        """The hidden steps `[time, dim]` that would stand in for the target, clip by clip.

        Raises:
            ConfigError: If the model does not impute the target.
            DataError: If a clip has nothing else, or its output is not finite.
        """
        return imputed_steps(self.fitted, self.prepared(clips), target)

    def align(
        self, clips: Clips, source: str | None = None, target: str | None = None
    ) -> list[Float[np.ndarray, "_ _"]]:
        """One dense plan `[source time, target time]` per clip.

        The solver's where the clip has the target, the fitter's prediction where it has not.

        Raises:
            ConfigError: If the ends are not named, or the model has no such direction.
            DataError: If a clip lacks the source, or its output is not finite.
            MMAlignError: If the method does not align.
        """
        chosen = self.direction(source, target)
        return dense_plans(self.fitted, self.prepared(clips), chosen)

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction that is meant: the named one, or the only one of a pair.

        Raises:
            ConfigError: If one end alone is named, or none where there are several directions, or
                the model does not know this one.
            MMAlignError: If the method does not align.
        """
        if not find_method(self.config.method).is_aligned:
            raise MMAlignError(f"method {self.config.method!r} does not align modalities")
        return chosen_direction(self.fitted, source, target)

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities of the fitted model."""
        return self.fitted.modalities

    @property
    def dims(self) -> Mapping[str, int]:
        """Features a step of each modality of the fitted model."""
        return self.fitted.features()

    @property
    def is_masked(self) -> bool:
        """Whether the method is meant for clips as a protocol's masks leave them."""
        return find_method(self.config.method).is_masked

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Split, id, prediction, label where known, and which modalities were there.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        return prediction_table(self.fitted, {n: self.prepared(s) for n, s in splits.items()})

    def watch_with(self, watch: Watch) -> None:
        """Let `watch` see the batches go by that are predicted from now on."""
        self.predictor = replace(self.fitted, watch=watch)

    def prepared(self, clips: Clips) -> Split:
        """The clips as the model sees them: checked, and its modalities only.

        A modality that no clip has need not be there at all. Labels are left out unless all of
        them are in the terms of the model's task.

        Raises:
            DataError: If a clip has none of them, or lacks one that the model needs, or features do
                not fit the model.
        """
        rows = self.known(clips)
        return self._checked(with_labels_that_fit(rows, self.reads, self.fitted.task))

    def _features(self, clips: Clips) -> Split:
        return self._checked(features_of(self.known(clips), self.reads, self.fitted.task))

    def _checked(self, split: Split) -> Split:
        return readable(split, self.fitted.features(), self.non_finite)

    # --- files ----------------------------------------------------------------------------

    def saved(self) -> Saved:
        """The model as it is written.

        Raises:
            MMAlignError: If it is not fitted.
        """
        return Artifact(self.fitted, self.config).saved()

    @classmethod
    def restored(cls, saved: Saved, folder: Path, *, device: str) -> "NetworkMMAlign":
        """The model that `saved` gave, on a device.

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If it gave something else.
        """
        place = choose_device(device)
        artifact = artifact_of(saved, folder)
        artifact.predictor.move(place)
        model = cls.of(artifact.predictor, artifact.config)
        model.device = device
        return model

    @classmethod
    def of(cls, predictor: Predictor, config: Config) -> "NetworkMMAlign":
        """An estimator around a model that was trained elsewhere."""
        model = cls(modalities=predictor.modalities, **settings_of(config))
        model.predictor = predictor
        return model
