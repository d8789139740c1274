"""What every estimator can do, and which of the two a call of `MMAlign` makes."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Shaped

from mmalign.data.dataset import Dataset
from mmalign.data.intake import Clips
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import ConfigError, MMAlignError
from mmalign.files import standing_directory
from mmalign.predictor.predictor import Watch
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.runs.experts_artifact import is_of_experts
from mmalign.runs.manifest import Saved, read_saved, replace_saved

Groups = Callable[[str], str]
"""From a clip's id to its person or video."""


class MMAlign:
    """Predicts from parallel sequences, of which any clip may lack some.

    `MMAlign()` takes all modalities that the training clips have, and answers for any subset of
    them: see `mmalign.estimator.experts.ExpertsMMAlign`. `MMAlign(visible=…, victim=…)` is the
    paper's method for one pair of modalities: see `mmalign.estimator.pair.PairMMAlign`. With
    `method="mmalign"` or another of its rows, the paper's network takes any number of them: see
    `mmalign.estimator.network.NetworkMMAlign`.

    Args:
        visible: The modality that is always there, and
        victim: the one that may be missing; or
        modalities: which to use where any may be missing; by default all.
        method: `experts`, or what imputes; `mmalign methods` lists them.
        device: `auto`, `cpu`, `cuda`, ….
        settings: Of the method, e.g. `seed=1`, or `window=8` for the paper's.

    >>> MMAlign(), MMAlign(modalities=["text", "face"], seed=1), MMAlign("text", "face", window=4)
    (MMAlign(), MMAlign(modalities=['text', 'face'], seed=1), MMAlign('text', 'face', window=4))
    """

    def __new__(cls, *args: Any, **settings: Any) -> "MMAlign":
        """An estimator of the kind that the arguments ask for.

        Raises:
            ConfigError: If one of a pair is not named, or a pair and other modalities are.
        """
        return super().__new__(_kind(args, settings) if cls is MMAlign else cls)

    # --- what each kind does in its own way -----------------------------------------------

    def fit(
        self, train: Clips | Dataset, valid: Clips | None = None, groups: Groups | None = None
    ) -> "MMAlign":
        """Learn from clips, complete and incomplete ones."""
        raise NotImplementedError

    @property
    def task(self) -> Task | None:
        """What is predicted; none before `fit`."""
        raise NotImplementedError

    def prepared(self, clips: Clips) -> Split:
        """The clips as the model sees them: checked, and its modalities only."""
        raise NotImplementedError

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities that the fitted model reads."""
        raise NotImplementedError

    @property
    def needs(self) -> tuple[str, ...]:
        """Those of them that no clip may lack."""
        return ()

    @property
    def is_masked(self) -> bool:
        """Whether the model is meant for clips as a protocol's masks leave them."""
        return True

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Predictions and which modalities were there: one row a clip."""
        raise NotImplementedError

    def predict(self, clips: Clips) -> Labels:
        """One prediction a clip: a number, or the index of a class in `classes_`."""
        raise NotImplementedError

    def predict_proba(self, clips: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`."""
        raise NotImplementedError

    def score(self, clips: Clips) -> dict[str, float]:
        """The task's metrics on labelled clips; classes are compared by name."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All constructor arguments, as `sklearn.base.clone` wants them."""
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        """The constructor arguments that make the same estimator, unfitted."""
        raise NotImplementedError

    def saved(self) -> Saved:
        """The model as it is written."""
        raise NotImplementedError

    # --- what only the paper's can do -----------------------------------------------------

    def impute(
        self,
        clips: Clips,  # noqa: ARG002
        target: str | None = None,  # noqa: ARG002
    ) -> list[Float[np.ndarray, "_ _"]]:
        """Stand-ins for a missing modality; in a pair, for the victim.

        Raises:
            MMAlignError: If the model leaves out what is missing.
        """
        raise MMAlignError(f"this model does not impute{_ONLY_PAIR}")

    def align(
        self,
        clips: Clips,  # noqa: ARG002
        source: str | None = None,  # noqa: ARG002
        target: str | None = None,  # noqa: ARG002
    ) -> list[Float[np.ndarray, "_ _"]]:
        """Plans between two modalities; in a pair, from visible to victim.

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

    @property
    def classes_(self) -> Shaped[np.ndarray, " classes"]:
        """Names of the classes, in the order of their indices; `classes_[predict(clips)]`.

        Raises:
            AttributeError: If the model is not fitted or predicts numbers, as in scikit-learn.
        """
        if not isinstance(self.task, Classification):
            raise AttributeError("classes_: only a fitted classifier has classes")
        return np.array(self.task.classes)

    # --- files ----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write config, weights, model card and manifest into a directory of their own.

        A model that is there is replaced as a whole: a kill leaves the old one or the new.

        Raises:
            MMAlignError: If the model is not fitted, or there is anything else than a saved model.
        """
        replace_saved(Path(path).resolve(), self.saved())

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
        from mmalign.estimator.experts import ExpertsMMAlign
        from mmalign.estimator.network import NetworkMMAlign
        from mmalign.estimator.pair import PairMMAlign

        folder = standing_directory(Path(path))
        saved = read_saved(folder)
        if is_of_experts(saved):
            return ExpertsMMAlign.restored(saved, folder, device=device)
        kind = NetworkMMAlign if "modalities" in saved.settings else PairMMAlign
        return kind.restored(saved, folder, device=device)

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
        if standing_directory(Path(name)).is_dir():
            return cls.load(name, device=device)
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        try:
            return cls.load(snapshot_download(str(name)), device=device)
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise MMAlignError(f"{name}: neither a directory nor a model on the Hub") from error


_ONLY_PAIR = (
    ": a modality that is missing is left out of its sum. "
    "MMAlign(visible=…, victim=…) is the paper's method, which does."
)


def _kind(args: tuple[Any, ...], settings: dict[str, Any]) -> type[MMAlign]:
    """The estimator that these arguments of `MMAlign` ask for."""
    from mmalign.estimator.experts import ExpertsMMAlign
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.estimator.pair import PairMMAlign

    named = len(args) + ("visible" in settings) + ("victim" in settings)
    method = settings.get("method")
    if named and (method == EXPERTS or "modalities" in settings):
        raise ConfigError("experts take modalities=[…], not visible= and victim=")
    if named == 1:
        asked = "MMAlign" if method is None else f"method {method!r}"
        raise ConfigError(f"{asked} imputes one modality from another: give visible= and victim=")
    if named:
        return PairMMAlign
    return ExpertsMMAlign if method in (None, EXPERTS) else NetworkMMAlign
