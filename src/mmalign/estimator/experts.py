"""The default estimator: experts that answer for every subset of modalities."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from mmalign.data.dataset import Dataset
from mmalign.data.intake import Clips, gathered, labelled, with_labels_that_fit
from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.errors import ConfigError, located, suggestion
from mmalign.estimator.clips import modality_problems, require_modalities
from mmalign.estimator.contract import Groups, MMAlign
from mmalign.experts.answers import answer_table, answers
from mmalign.experts.contract import EPOCHS
from mmalign.experts.model import Experts
from mmalign.runs.experts_artifact import KIND, experts_of, saved_experts
from mmalign.runs.manifest import Saved

NAMES = ("modalities", "seed", "epochs", "device")


class ExpertsMMAlign(MMAlign):
    """Learns each modality by itself, and adds up what those say that a clip has.

    Args:
        modalities: Which to use; all that the training clips have by default.
        seed: Initial weights, random features, order of batches.
        epochs: Passes of the networks over the clips.
        device: `auto` or `cpu`: experts compute on the CPU.
        method: `experts`.

    >>> from mmalign.data import TwinConfig, synthetic_twin
    >>> data = synthetic_twin(TwinConfig(clips=(40, 10, 10))).dataset
    >>> model = MMAlign(epochs=1).fit(data["train"])
    >>> model.predict(data["test"].without("victim", data["test"].ids)).shape
    (10,)
    """

    def __init__(
        self,
        *,
        modalities: Sequence[str] | None = None,
        seed: int = 0,
        epochs: int = EPOCHS,
        device: str = "auto",
        method: str = KIND,
        **unknown: Any,
    ) -> None:
        problems = [f"experts have no {name!r}; {suggestion(name, NAMES)}" for name in unknown]
        problems += _problems(modalities, seed, epochs, device, method)
        if problems:
            raise ConfigError(problems)
        self.modalities = None if modalities is None else list(modalities)
        self.seed = seed
        self.epochs = epochs
        self.device = device
        self.experts = Experts(self.modalities, seed=seed, epochs=epochs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """All constructor arguments, as `sklearn.base.clone` wants them."""
        return {name: getattr(self, name) for name in NAMES}

    arguments = get_params

    def __repr__(self) -> str:
        defaults = type(self)().get_params()
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k]}
        return f"MMAlign({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def fit(
        self, train: Clips | Dataset, valid: Clips | None = None, groups: Groups | None = None
    ) -> "ExpertsMMAlign":
        """Learn from clips, of which any may lack any modality.

        Args:
            train: Training clips, or a dataset with `train`.
            valid: Validation clips: checked, and otherwise not used, as nothing is selected.
            groups: From a clip's id to its person or video. How sequences are centred and scaled is
                then chosen on people or videos that were left out, otherwise on single clips.

        Raises:
            DataError: If a modality or the labels are not in the clips, a clip has no modality at
                all, features differ in width, or a value is not finite.
        """
        if isinstance(train, Dataset):
            train = train["train"]
        rows = gathered(train)
        require_modalities(rows, self.modalities or ())
        fresh = Experts(self.modalities, seed=self.seed, epochs=self.epochs)
        with located(split="train"):
            fresh.fit(rows, groups)
        if valid is not None:
            with located(split="valid"):
                labelled(valid, list(fresh.experts), fresh.fitted_task)
        self.experts = fresh
        return self

    @property
    def task(self) -> Task | None:
        """What is predicted; none before `fit`."""
        return self.experts.task

    def prepared(self, clips: Clips) -> Split:
        """The clips with the model's modalities only; those that no clip has need not be there.

        Raises:
            DataError: If a clip has none of them.
        """
        names = list(self.experts.experts)
        split = with_labels_that_fit(clips, names, self.experts.fitted_task)
        return split.only([name for name in names if name in split.sequences])

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities that the experts have learned."""
        return tuple(self.experts.experts)

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Split, id, prediction, label where known, probabilities, and which modalities were used.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
        """
        seen = {name: self.prepared(split) for name, split in splits.items()}
        found = {name: answers(self.experts, split) for name, split in seen.items()}
        return answer_table(self.experts, seen, found)

    def predict(self, clips: Clips) -> Labels:
        """One prediction a clip: a number, or the index of a class in `classes_`.

        Labels are not looked at: clips may have any, or none.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the model is not fitted.
        """
        return self.experts.predict(self.prepared(clips))

    def predict_proba(self, clips: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the task is regression, or the model is not fitted.
        """
        return self.experts.predict_proba(self.prepared(clips))

    def score(self, clips: Clips) -> dict[str, float]:
        """The task's metrics on labelled clips; classes are compared by name.

        Raises:
            DataError: If a clip has no label, or one that the model does not know, or none of its
                modalities.
            MMAlignError: If the model is not fitted.
        """
        split = labelled(clips, list(self.experts.experts), self.experts.fitted_task)
        return self.experts.score(self.prepared(split))

    def saved(self) -> Saved:
        """The model as it is written.

        Raises:
            MMAlignError: If it is not fitted.
        """
        return saved_experts(self.experts)

    @classmethod
    def restored(cls, saved: Saved, folder: Path, *, device: str) -> "ExpertsMMAlign":
        """The model that `saved` gave.

        Raises:
            ConfigError: If experts cannot compute on the device.
            CorruptArtifactError: If it gave something else.
        """
        return cls.of(experts_of(saved, folder), device=device)

    @classmethod
    def of(cls, experts: Experts, *, device: str = "auto") -> "ExpertsMMAlign":
        """An estimator around a model that was trained elsewhere."""
        model = cls(
            modalities=experts.modalities, seed=experts.seed, epochs=experts.epochs, device=device
        )
        model.experts = experts
        return model


def _problems(
    modalities: Sequence[str] | None, seed: int, epochs: int, device: str, method: str
) -> list[str]:
    problems = modality_problems(modalities)
    if not 0 <= seed < 2**32:
        problems.append(f"seed must be in 0..2**32-1, got {seed}")
    if epochs < 1:
        problems.append(f"epochs must be >= 1, got {epochs}")
    if device not in ("auto", "cpu"):
        problems.append(f"device {device!r} cannot be used: experts compute on the CPU")
    if method != KIND:
        problems.append(f"method {method!r} needs another model: MMAlign(visible=…, victim=…)")
    return problems
