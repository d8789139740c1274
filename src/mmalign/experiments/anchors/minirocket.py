"""MiniRocket + ridge (sktime, scikit-learn): what many would train for one set of modalities.

A clip's modalities are brought to one length, the median of the training clips, and stacked as
channels; straight lines bridge gaps.
"""

from importlib.util import find_spec

import numpy as np
from jaxtyping import Float64

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.resampling import squeezed
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels
from mmalign.errors import ConfigError
from mmalign.experiments.anchors.contract import Answer
from mmalign.experts.gaps import without_gaps
from mmalign.training.config import Config

FEATURES = 4000
PENALTIES = np.logspace(-3, 3, 10)
SHORTEST = 9
"""MiniRocket's kernels are so long."""

KIND = "minirocket"
INSTALL = "pip install 'mmalign[anchors]'"


def is_installed() -> bool:
    """Whether sktime and scikit-learn are there."""
    return all(find_spec(name) is not None for name in ("sktime", "sklearn"))


def require_installed() -> None:
    """Check that MiniRocket can be trained.

    Raises:
        ConfigError: If sktime or scikit-learn is missing.
    """
    if not is_installed():
        raise ConfigError(f"MiniRocket needs sktime and scikit-learn: {INSTALL}")


def fit_minirocket(dataset: Dataset, config: Config) -> Answer:
    """Train on clips that have all their modalities, and more than one label.

    Raises:
        ConfigError: If sktime or scikit-learn is missing.
    """
    require_installed()
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sktime.transformations.panel.rocket import MiniRocketMultivariate

    train, labels = dataset["train"], dataset.training_labels()
    steps = common_length(train)
    rocket = MiniRocketMultivariate(FEATURES, random_state=config.seed, n_jobs=1)
    ridge = RidgeClassifierCV if isinstance(dataset.task, Classification) else RidgeCV
    model = make_pipeline(StandardScaler(with_mean=False), ridge(PENALTIES))
    model.fit(np.asarray(rocket.fit_transform(panel(train, steps))), labels)

    def answer(split: Split) -> Labels:
        found = model.predict(np.asarray(rocket.transform(panel(split, steps))))
        predictions: Labels = found.astype(labels.dtype)
        return predictions

    return answer


def common_length(split: Split) -> int:
    """The median length of all sequences, or what MiniRocket needs at least."""
    lengths = np.concatenate([split.lengths(name) for name in split.modalities])
    return max(SHORTEST, int(np.median(lengths)))


def panel(split: Split, steps: int) -> Float64[np.ndarray, "clips channels steps"]:
    """All clips at one length, their modalities stacked as channels."""
    columns = [
        np.stack([_at_length(found, steps) for found in split.sequences[name] if found is not None])
        for name in split.modalities
    ]
    stacked = np.concatenate(columns, axis=2).transpose(0, 2, 1)
    return np.ascontiguousarray(stacked, dtype=np.float64)


def _at_length(sequence: Steps, steps: int) -> Steps:
    whole = without_gaps(sequence, smooth=True)
    return whole if len(whole) == steps else squeezed(whole, steps)
