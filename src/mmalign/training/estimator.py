"""MM-Align in six lines, with scikit-learn's manners."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mmalign import align
from mmalign.data.batching import Batches
from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.missingness import surviving_ids
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Regression, Task, task_to_json
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.files import new_directory
from mmalign.imputers.mmalign import AlignmentDynamicsLearner
from mmalign.model.pair import Pair
from mmalign.training.artifact import (
    SAVED_FILES,
    Artifact,
    load_artifact,
    save_artifact,
    seal,
)
from mmalign.training.config import Config, config_to_json
from mmalign.training.device import choose_device
from mmalign.training.loop import Training
from mmalign.training.methods import configure, find_method
from mmalign.training.prediction import Predictor, check_finite

VALIDATION_SHARE = 0.15
Clips = Split | Sequence[Clip]


class MMAlign:
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

    def set_params(self, **params: Any) -> "MMAlign":
        """Change constructor arguments; a fitted model becomes unfitted.

        Raises:
            ConfigError: If a name is unknown or a value makes no sense.
        """
        self.__init__(**{**self.get_params(), **params})  # type: ignore[misc]
        return self

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"MMAlign({self.visible!r}, {self.victim!r}{shown})"

    # --- training -------------------------------------------------------------------------

    def fit(self, train: Split | Dataset, valid: Split | None = None) -> "MMAlign":
        """Learn from clips, complete and incomplete ones; keep the epoch that validates best.

        Args:
            train: Training clips, or a dataset with `train` and perhaps `valid`.
            valid: Validation clips; without them, 15 % of the training clips are set aside.

        Raises:
            DataError: If a modality or the labels are not in the clips.
            TrainingError: If a loss is not finite.
        """
        if isinstance(train, Dataset):
            valid = valid if valid is not None or "valid" not in train.splits else train["valid"]
            train = train["train"]
        if valid is None:
            train, valid = _set_aside(train, self.config.seed)
        dataset = self._seen(train, valid)
        training = Training(
            dataset,
            self.config,
            visible=self.visible,
            victim=self.victim,
            validations={"valid": dataset["valid"]},
            device=choose_device(self.device),
        )
        training.run()
        self.predictor = training.select("valid")
        self.history = training.state.history
        return self

    def _seen(self, train: Split, valid: Split) -> Dataset:
        see = find_method(self.config.method).see
        splits = {
            name: see(self._pair_of(split), self.visible, self.victim)
            for name, split in (("train", train), ("valid", valid))
        }
        dims = {name: _dim(splits["train"], name) for name in (self.visible, self.victim)}
        for name, split in splits.items():
            if split.labels is None:
                raise DataError("there are no labels to learn from", split=name)
            check_features(split, dims, visible=self.visible)
        return Dataset(_task_of(train), dims, splits)

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

    def predict(self, clips: Clips) -> Labels:
        """One prediction a clip: a number, or the index of a class.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        return self.fitted.to_labels(self.fitted.outputs(self.prepared(clips)))

    def predict_proba(self, clips: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class.

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
        """The task's metrics on labelled clips.

        Raises:
            DataError: If the clips have no labels of the model's task, or an output is not finite.
        """
        split = self.prepared(clips)
        if split.labels is None or len(split) == 0:
            raise DataError(
                f"there are no labels of the model's task, {task_to_json(self.fitted.task)}",
                fix="Score on data with the same classes, or use predict.",
            )
        return self.fitted.evaluate(split)

    def impute(self, clips: Clips) -> list[Float[np.ndarray, "_ _"]]:
        """The hidden steps `[time, dim]` that would stand in for the victim, clip by clip.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
        """
        imputed = []
        for pair in self._pairs(clips):
            with torch.no_grad():
                hidden = self.fitted.model.impute(self.fitted.model.encode_visible(pair))
            check_finite(hidden.steps, pair.ids)
            imputed.append(hidden.steps[0].cpu().numpy())
        return imputed

    def align(self, clips: Clips) -> list[Float[np.ndarray, "_ _"]]:
        """One dense plan `[visible time, victim time]` a clip.

        The solver's where the clip has its victim, the fitter's prediction where it has not.

        Raises:
            DataError: If features do not fit the model, or its output is not finite.
            MMAlignError: If the method does not align.
        """
        imputer = self.fitted.model.imputer
        if not isinstance(imputer, AlignmentDynamicsLearner):
            raise MMAlignError(f"method {self.config.method!r} does not align modalities")
        return [self._plan(imputer, pair) for pair in self._pairs(clips)]

    def _plan(
        self, imputer: AlignmentDynamicsLearner, pair: Pair
    ) -> Float[np.ndarray, "time victim_time"]:
        model = self.fitted.model
        with torch.no_grad():
            visible = model.encode_visible(pair)
            check_finite(visible.steps, pair.ids)
            if bool(pair.is_complete.all()):
                lengths = pair.victim_lengths
                victim = model.encode_victim(pair)
                check_finite(victim.steps, pair.ids)
                mass = imputer.plan(visible, victim).mass
            else:
                lengths = model.victim_lengths(visible.lengths)
                mass = imputer.predicted_plan(visible, lengths)
        dense = align.to_dense(mass, visible_lengths=visible.lengths, victim_lengths=lengths)
        plan: Float[np.ndarray, "time victim_time"] = dense[0].cpu().numpy()
        return plan

    def prepared(self, clips: Clips) -> Split:
        """The clips as the model sees them: checked, and its two modalities only.

        A victim that no clip has need not be there at all. Labels of another task are left out.

        Raises:
            DataError: If the visible modality is missing, or features do not fit the model.
        """
        split = clips if isinstance(clips, Split) else _from_clips(clips, self)
        if self.victim not in split.sequences:
            absent = {**split.sequences, self.victim: [None] * len(split)}
            split = replace(split, sequences=absent)
        split = _with_labels_of(self.fitted.task, self._pair_of(split))
        see = find_method(self.config.method).see
        seen = see(split, self.visible, self.victim)
        check_features(seen, self.fitted.features(), visible=self.visible)
        return seen

    def _pairs(self, clips: Clips) -> list[Pair]:
        self.fitted.model.eval()
        batches = Batches(self.prepared(clips), self.fitted.features(), batch_size=1)
        return [self.fitted.pair(batch) for batch in batches.in_order()]

    # --- files ----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write config, weights, model card and manifest into a directory of their own.

        Raises:
            MMAlignError: If the model is not fitted, or the directory holds anything else.
        """
        folder = Path(path)
        if folder.exists() and {file.name for file in folder.iterdir()} - SAVED_FILES:
            raise MMAlignError(
                f"{folder}: holds other files than a saved model. Give another path."
            )
        with new_directory(folder.with_name(f".{folder.name}.new")) as draft:
            save_artifact(draft, Artifact(self.fitted, self.config))
            seal(draft, {})
        if folder.exists():
            shutil.rmtree(folder)
        folder.with_name(f".{folder.name}.new").replace(folder)

    save_pretrained = save

    @classmethod
    def load(cls, path: str | PathLike[str], *, device: str = "auto") -> "MMAlign":
        """The model that `save` or `mmalign train` wrote, on whatever device it was trained.

        Args:
            path: Its directory.
            device: Where to compute from now on: `auto`, `cpu`, `cuda`, ….

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If a file is not as it was written.
            MMAlignError: If there is no finished model.
        """
        place = choose_device(device)
        artifact = load_artifact(Path(path))
        artifact.predictor.model.to(place)
        model = cls.of(artifact.predictor, artifact.config)
        model.device = device
        return model

    @classmethod
    def of(cls, predictor: Predictor, config: Config) -> "MMAlign":
        """An estimator around a model that was trained elsewhere."""
        model = cls(predictor.visible, predictor.victim, **config_to_json(config))
        model.predictor = predictor
        return model

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], *, device: str = "auto") -> "MMAlign":
        """A model from a directory, or from the Hugging Face Hub by name.

        Args:
            name: The directory, or the name on the Hub.
            device: Where to compute: `auto`, `cpu`, `cuda`, ….

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If a file is not as it was written.
            MMAlignError: If there is no such model.
        """
        if Path(name).is_dir():
            return cls.load(name, device=device)
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        try:
            return cls.load(snapshot_download(str(name)), device=device)
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise MMAlignError(f"{name}: neither a directory nor a model on the Hub") from error


def check_features(split: Split, features: Mapping[str, int], *, visible: str) -> None:
    """Check that every clip has the visible modality, of the right width, and finite numbers.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    for clip in split:
        if clip.is_missing(visible):
            raise DataError("the visible modality is missing", clip=clip.id, modality=visible)
        for name, dim in features.items():
            steps = clip.sequences[name]
            if steps is None:
                continue
            if len(steps) == 0 or steps.shape[1] != dim:
                raise DataError(
                    f"expected [time, {dim}], got {list(steps.shape)}", clip=clip.id, modality=name
                )
            if not np.isfinite(steps).all():
                step, feature = (int(i) for i in np.argwhere(~np.isfinite(steps))[0])
                raise DataError(
                    "non-finite value",
                    clip=clip.id,
                    modality=name,
                    step=step,
                    feature=feature,
                    fix="Clean it, or load the data with non_finite='zero' or 'clip'.",
                )


def _with_labels_of(task: Task, split: Split) -> Split:
    """The split with labels in the terms of a task; without them where they are of another."""
    if split.labels is None or split.task is None or split.task == task:
        return split
    if isinstance(task, Classification) and isinstance(split.task, Classification):
        if set(split.task.classes) == set(task.classes):
            names = split.task.classes
            labels = np.array([task.classes.index(names[k]) for k in split.labels], np.int64)
            return replace(split, labels=labels, task=task)
    elif isinstance(task, Regression) and isinstance(split.task, Regression):
        return split
    return replace(split, labels=None, task=task)


def _task_of(split: Split) -> Task:
    if split.labels is None:
        raise DataError("training clips have no labels", fix="Give them a label each.")
    if split.task is not None:
        return split.task
    if split.labels.dtype.kind == "f":
        return Regression()
    return Classification(tuple(map(str, range(max(2, int(split.labels.max()) + 1)))))


def _dim(split: Split, modality: str) -> int:
    for steps in split.sequences[modality]:
        if steps is not None:
            return int(steps.shape[1])
    raise DataError("no training clip has the modality", modality=modality)


def _from_clips(clips: Sequence[Clip], model: MMAlign) -> Split:
    return Split.from_clips(clips, [model.visible, model.victim], model.fitted.task)


def _set_aside(train: Split, seed: int) -> tuple[Split, Split]:
    """Training and validation clips, chosen by a hash of their ids.

    The ids are salted: a protocol's survivors, drawn by the same hash, would all be chosen.
    """
    salted = [f"validation:{clip_id}" for clip_id in train.ids]
    count = max(1, int(VALIDATION_SHARE * len(train)))
    chosen = surviving_ids(salted, count=count, seed=seed)
    is_valid = np.array([clip_id in chosen for clip_id in salted])
    return train.select(np.flatnonzero(~is_valid)), train.select(np.flatnonzero(is_valid))
