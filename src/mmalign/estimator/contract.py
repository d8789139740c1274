"""The interface of all estimators; calling `MMAlign` makes one of the right kind."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Shaped

from mmalign.data.batching import Watch
from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.grouping import Groups
from mmalign.data.intake import Clips, gathered, labelled, labelled_by, labels_in, written
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import MMAlignError
from mmalign.estimator.cleaning import Cleaning, cleaning_of, with_cleaning
from mmalign.estimator.kinds import kind_of_call, kind_of_saved
from mmalign.estimator.manners import sklearn_tags
from mmalign.estimator.scoring import agreement
from mmalign.files import standing_directory
from mmalign.runs.manifest import Saved, read_saved, replace_saved


class MMAlign:
    """Predict from parallel sequences when clips lack some of them.

    The arguments choose the kind of model:

    - `MMAlign()` uses all modalities of the training clips and answers for any subset of them
      (`mmalign.estimator.experts.ExpertsMMAlign`).
    - `MMAlign(visible=…, victim=…)` is the paper's method for a pair of modalities
      (`mmalign.estimator.pair.PairMMAlign`).
    - `MMAlign(method="mmalign")`, or another imputer, is the paper's network for any number of
      modalities (`mmalign.estimator.network.NetworkMMAlign`).

    Args:
        visible: Modality that every clip has.
        victim: Modality that may be missing.
        modalities: Modalities to use if any of them may be missing. Default: all.
        method: `experts`, or an imputer; `mmalign methods` lists them.
        device: `auto`, `cpu`, `cuda`, ….
        non_finite: How `fit` and `predict` treat NaN and infinity: `reject` refuses them, `gap`
            counts such steps as missing, and `zero` replaces the values by 0.
        settings: Settings of the method, e.g. `seed=1`, or `window=8` for the paper's.

    >>> MMAlign(), MMAlign(modalities=["text", "face"], seed=1), MMAlign("text", "face", window=4)
    (MMAlign(), MMAlign(modalities=['text', 'face'], seed=1), MMAlign('text', 'face', window=4))
    """

    non_finite: Cleaning = "reject"

    def __new__(cls, *args: Any, **settings: Any) -> "MMAlign":
        """Make an estimator of the kind that the arguments ask for.

        Raises:
            ConfigError: If one of a pair is not named, or a pair and other modalities are.
        """
        kind: type[MMAlign] = kind_of_call(args, settings) if cls is MMAlign else cls
        return super().__new__(kind)

    # --- what each kind does in its own way -----------------------------------------------

    def fit(
        self,
        X: Clips | Dataset,
        y: Any = None,
        *,
        valid: Clips | None = None,
        groups: Groups | None = None,
        verbose: bool = False,
    ) -> "MMAlign":
        """Train on clips, any of which may lack modalities.

        Args:
            X: Training clips, or a dataset with `train` and optionally `valid`.
            y: One label per clip. Default: the labels that the clips carry.
            valid: Labelled validation clips.
            groups: The person or video of each clip, one per clip, or a function from a clip's id
                to it. Default: the groups that the clips carry.
            verbose: Whether to print progress to stderr.
        """
        raise NotImplementedError

    @property
    def task(self) -> Task | None:
        """The task that the model learned; None before `fit`."""
        raise NotImplementedError

    def prepared(self, clips: Clips) -> Split:
        """Check clips, and keep only the modalities that the model reads."""
        raise NotImplementedError

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities that the fitted model reads."""
        raise NotImplementedError

    @property
    def dims(self) -> Mapping[str, int]:
        """Features a step of each modality that the fitted model reads."""
        raise NotImplementedError

    def known(self, clips: Clips) -> Split | list[Clip]:
        """The clips, once it is certain that none has a modality of the model's under another name.

        Raises:
            DataError: If one has.
        """
        rows = gathered(clips)
        require_known(rows, self.reads)
        return rows

    @property
    def needs(self) -> tuple[str, ...]:
        """The modalities that no clip may lack."""
        return ()

    @property
    def is_masked(self) -> bool:
        """Whether the model is meant for clips as a protocol's masks leave them."""
        return True

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Predictions, and which modalities each clip had: one row per clip."""
        raise NotImplementedError

    def answers(self, clips: Clips) -> Labels:
        """One answer per clip: a number, or the index of a class."""
        raise NotImplementedError

    def predict_proba(self, X: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`."""
        raise NotImplementedError

    def evaluated(self, split: Split) -> dict[str, float]:
        """All metrics of the task on prepared clips with labels."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All constructor arguments, as scikit-learn expects them."""
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        """The constructor arguments that make the same estimator, unfitted."""
        raise NotImplementedError

    def saved(self) -> Saved:
        """The model as it is written."""
        raise NotImplementedError

    # --- answers in the user's terms ------------------------------------------------------

    def predict(self, X: Clips) -> Shaped[np.ndarray, " clips"]:
        """Predict one label per clip: a number, or a class as the training labels named it.

        The clips need no labels; any labels they have are ignored.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the model is not fitted.
        """
        found = self.answers(X)
        return self.task.as_given()[found] if isinstance(self.task, Classification) else found

    def score(self, X: Clips, y: Any = None) -> float:
        """Accuracy, or R² for a regression; `metrics` has all metrics.

        Args:
            X: Clips.
            y: One label per clip. Default: the labels that the clips carry.

        Raises:
            DataError: If a clip has no label, or none of the model's modalities.
            MMAlignError: If the model is not fitted.
        """
        rows, task = gathered(X), self.known_task()
        labels = written(rows) if y is None else task.named(labels_in(y, rows))
        return agreement(task, self.answers(rows), labels)

    def metrics(self, X: Clips, y: Any = None) -> dict[str, float]:
        """Compute all metrics of the task; classes are compared by name.

        Args:
            X: Clips.
            y: One label per clip. Default: the labels that the clips carry.

        Raises:
            DataError: If a clip has no label, or one that the model does not know, or none of its
                modalities.
            MMAlignError: If the model is not fitted.
        """
        task = self.known_task()
        names = list(self.reads)
        rows = self.known(X)
        split = labelled(rows, names, task) if y is None else labelled_by(rows, y, names, task)
        return self.evaluated(self.prepared(split))

    def known_task(self) -> Task:
        """What the fitted model predicts.

        Raises:
            MMAlignError: If it is not fitted yet.
        """
        if self.task is None:
            raise MMAlignError("this model is not fitted. Call fit(clips) first.")
        return self.task

    # --- what only the paper's can do -----------------------------------------------------

    def impute(
        self,
        clips: Clips,  # noqa: ARG002
        target: str | None = None,  # noqa: ARG002
    ) -> list[Float[np.ndarray, "_ _"]]:
        """Hidden sequences that replace a missing modality; in a pair, the victim.

        Raises:
            MMAlignError: If the model does not impute.
        """
        raise MMAlignError(f"this model does not impute{_ONLY_PAIR}")

    def align(
        self,
        clips: Clips,  # noqa: ARG002
        source: str | None = None,  # noqa: ARG002
        target: str | None = None,  # noqa: ARG002
    ) -> list[Float[np.ndarray, "_ _"]]:
        """Alignment plans between two modalities; in a pair, from visible to victim.

        Raises:
            MMAlignError: If the model does not align.
        """
        raise MMAlignError(f"this model does not align{_ONLY_PAIR}")

    def watch_with(self, watch: Watch) -> None:
        """Let `watch` see batches go by, where predictions are made in batches."""

    # --- scikit-learn's manners -----------------------------------------------------------

    def set_params(self, **params: Any) -> "MMAlign":
        """Change constructor arguments; a fitted model becomes unfitted.

        Another method brings its own defaults, as in the constructor; what was asked for stays.

        Raises:
            ConfigError: If a name is unknown or a value makes no sense; then nothing changes.
        """
        if params:
            self.__dict__ = vars(type(self)(**{**self.arguments(), **params}))
        return self

    def __sklearn_clone__(self) -> "MMAlign":
        # Through get_params, all settings would seem asked for, the method's defaults included.
        return type(self)(**self.arguments())

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags(self.task)

    def __sklearn_is_fitted__(self) -> bool:
        return self.task is not None

    @property
    def classes_(self) -> Shaped[np.ndarray, " classes"]:
        """The classes as the training labels named them, in the order of `predict_proba`.

        Raises:
            AttributeError: If the model is not fitted or predicts numbers, as in scikit-learn.
        """
        if not isinstance(self.task, Classification):
            raise AttributeError("classes_: only a fitted classifier has classes")
        return self.task.as_given()

    # --- files ----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write config, weights, model card and manifest to a directory.

        A model in the directory is replaced atomically: a kill leaves the old one or the new one.

        Raises:
            MMAlignError: If the model is not fitted, or the directory holds something else.
        """
        replace_saved(Path(path).resolve(), with_cleaning(self.saved(), self.non_finite))

    save_pretrained = save

    @classmethod
    def load(cls, path: str | PathLike[str], *, device: str = "auto") -> "MMAlign":
        """Load a model that `save` or `mmalign train` wrote, on any device.

        Args:
            path: Its directory.
            device: Where to compute from now on: `auto`, `cpu`, `cuda`, ….

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If a file is not as it was written.
            MMAlignError: If there is no finished model.
        """
        folder = standing_directory(Path(path))
        saved = read_saved(folder)
        model: MMAlign = kind_of_saved(saved).restored(saved, folder, device=device)
        model.non_finite = cleaning_of(saved)
        return model

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], *, device: str = "auto") -> "MMAlign":
        """Load a model from a directory, or from the Hugging Face Hub by name.

        Args:
            name: The directory, or the name on the Hub.
            device: Where to compute: `auto`, `cpu`, `cuda`, ….

        Raises:
            ConfigError: If there is no such device here.
            CorruptArtifactError: If a file is not as it was written.
            MMAlignError: If there is no such model.
        """
        if standing_directory(Path(name)).is_dir():
            return cls.load(name, device=device)
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        try:
            return cls.load(snapshot_download(str(name)), device=device)
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise MMAlignError(f"{name}: neither a directory nor a model on the Hub") from error


_ONLY_PAIR = (
    ": it leaves missing modalities out. MMAlign(visible=…, victim=…), the paper's method, does."
)
