"""The default estimator: experts that predict from any subset of modalities."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.grouping import Groups, with_groups
from mmalign.data.intake import (
    Clips,
    features_of,
    gathered,
    labelled,
    modalities_in,
    relabelled,
    task_of,
    with_labels_that_fit,
)
from mmalign.data.non_finite import cleaned
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.errors import ConfigError, located, suggestion
from mmalign.estimator.cleaning import Cleaning, known_cleaning
from mmalign.estimator.clips import modality_problems, require_modalities
from mmalign.estimator.contract import MMAlign
from mmalign.estimator.lines import modality_line, say
from mmalign.experts.answers import answer_table, answers
from mmalign.experts.contract import EPOCHS, Lesson
from mmalign.experts.modality import ModalityExperts, learn_modality
from mmalign.experts.model import Experts
from mmalign.experts.senses import sense_problems
from mmalign.runs.experts_artifact import KIND, experts_of, saved_experts
from mmalign.runs.manifest import Saved

NAMES = ("modalities", "seed", "epochs", "members", "senses", "device", "non_finite")
KNOWN = (*NAMES, "method", "visible", "victim")


class ExpertsMMAlign(MMAlign):
    """Learn each modality separately, and add up the evidence of those that a clip has.

    Args:
        modalities: Modalities to use. Default: all that the training clips have.
        seed: Seed of initial weights, random features and batch order.
        epochs: Number of training epochs of the networks.
        members: Number of networks per modality, whose answers are averaged.
        senses: For a modality, parts of its input sense that are not to be chosen, such as
            `{"wrist": {"centre": True, "own_scale": False}}`; see docs/experts.md.
        device: `auto` or `cpu`; experts compute on the CPU.
        non_finite: How to treat NaN and infinity: `reject`, `gap` or `zero`.
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
        members: int = 1,
        senses: Mapping[str, Any] | None = None,
        device: str = "auto",
        non_finite: Cleaning = "reject",
        method: str = KIND,
        **unknown: Any,
    ) -> None:
        problems = [f"experts have no {name!r}; {suggestion(name, KNOWN)}" for name in unknown]
        problems += _problems(modalities, seed, device, method) + sense_problems(senses)
        problems += [
            f"{name} must be an integer >= 1, got {number!r}"
            for name, number in (("epochs", epochs), ("members", members))
            if not _is_whole(number) or number < 1
        ]
        if problems:
            raise ConfigError(problems)
        self.modalities = None if modalities is None else list(modalities)
        self.seed = seed
        self.epochs = epochs
        self.members = members
        self.senses = senses
        self.device = device
        self.non_finite = known_cleaning(non_finite)
        self.experts = self._fresh()

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """All constructor arguments, as scikit-learn expects them."""
        return {name: getattr(self, name) for name in NAMES}

    arguments = get_params

    def __repr__(self) -> str:
        defaults = type(self)().get_params()
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k]}
        return f"MMAlign({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def fit(
        self,
        X: Clips | Dataset,
        y: Any = None,
        *,
        valid: Clips | None = None,
        groups: Groups | None = None,
        verbose: bool = False,
    ) -> "ExpertsMMAlign":
        """Train on clips, any of which may lack any modality.

        Args:
            X: Training clips, or a dataset with `train`.
            y: One label per clip. Default: the labels that the clips carry.
            valid: Validation clips. They are checked but not used: nothing is selected on them.
            groups: The person or video of each clip, one per clip, or a function from a clip's id
                to it. Centring and scaling are then chosen on held-out people or videos, and
                otherwise on held-out clips. Default: the groups that the clips carry.
            verbose: Whether to print progress to stderr.

        Raises:
            DataError: If a modality or the labels are not in the clips, a clip has no modality at
                all, features differ in width, a value is not finite, or groups are not one per
                clip.
        """
        train = X["train"] if isinstance(X, Dataset) else X
        rows = gathered(train) if y is None else relabelled(train, y)
        require_modalities(rows, self.modalities or ())
        fresh = self._fresh()
        with located(split="train"):
            told = with_groups(rows, groups)
            fresh.fit(self._cleaned(told), learn=_tell if verbose else _learn)
        if valid is not None:
            with located(split="valid"):
                rows = gathered(valid)
                require_known(rows, list(fresh.experts))
                labelled(rows, list(fresh.experts), fresh.fitted_task)
        self.experts = fresh
        return self

    def _fresh(self) -> Experts:
        """A model that has not learned anything."""
        recipe = {"seed": self.seed, "epochs": self.epochs, "members": self.members}
        return Experts(self.modalities, senses=self.senses, **recipe)

    def _cleaned(self, rows: Split | list[Clip]) -> Split | list[Clip]:
        """Training clips without NaN and infinity, where the estimator cleans them."""
        if self.non_finite == "reject":
            return rows
        names = self.modalities or modalities_in(rows)
        return cleaned(labelled(rows, names, task_of(rows)), self.non_finite)

    @property
    def task(self) -> Task | None:
        """The task that the model learned; None before `fit`."""
        return self.experts.task

    def prepared(self, clips: Clips) -> Split:
        """The clips with the model's modalities only; those that no clip has need not be there.

        Raises:
            DataError: If a clip has none of them.
        """
        return self._seen(clips, with_labels_that_fit)

    def _asked(self, clips: Clips) -> Split:
        """The same as a prediction looks at them: labels are not."""
        return self._seen(clips, features_of)

    def _seen(self, clips: Clips, take: Callable[[Clips, list[str], Task], Split]) -> Split:
        names = list(self.experts.experts)
        split = take(self.known(clips), names, self.experts.fitted_task)
        return cleaned(split.only([n for n in names if n in split.sequences]), self.non_finite)

    @property
    def reads(self) -> tuple[str, ...]:
        """The modalities that the experts have learned."""
        return tuple(self.experts.experts)

    @property
    def dims(self) -> Mapping[str, int]:
        """Features a step of each modality that the experts have learned."""
        return self.experts.dims()

    def table(self, splits: Mapping[str, Split]) -> pa.Table:
        """Split, id, prediction, label where known, probabilities, and which modalities were used.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
        """
        seen = {name: self.prepared(split) for name, split in splits.items()}
        found = {name: answers(self.experts, split) for name, split in seen.items()}
        return answer_table(self.experts, seen, found)

    def answers(self, clips: Clips) -> Labels:
        """One answer a clip: a number, or the index of a class.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the model is not fitted.
        """
        return self.experts.predict(self._asked(clips))

    def predict_proba(self, X: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the task is regression, or the model is not fitted.
        """
        return self.experts.predict_proba(self._asked(X))

    def evaluated(self, split: Split) -> dict[str, float]:
        """All metrics of the task on prepared clips."""
        return self.experts.score(split)

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
        recipe = {name: getattr(experts, name) for name in ("seed", "epochs", "members")}
        model = cls(modalities=experts.modalities, device=device, **recipe)
        model.experts = experts
        return model


def _learn(_: str, lesson: Lesson) -> ModalityExperts:
    return learn_modality(lesson)


def _tell(name: str, lesson: Lesson) -> ModalityExperts:
    """Learn a modality, and say so."""
    learned = learn_modality(lesson)
    say(modality_line(name, learned.clips, learned.skill))
    return learned


def _problems(modalities: Sequence[str] | None, seed: Any, device: str, method: str) -> list[str]:
    problems = modality_problems(modalities)
    if not _is_whole(seed) or not 0 <= seed < 2**32:
        problems.append(f"seed must be an integer in 0..2**32-1, got {seed!r}")
    if device not in ("auto", "cpu"):
        problems.append(f"device {device!r} cannot be used: experts compute on the CPU")
    if method != KIND:
        problems.append(f"method {method!r} needs another model: MMAlign(visible=…, victim=…)")
    return problems


def _is_whole(value: Any) -> bool:
    """Whether it is an integer, as True and False are not, though Python says so."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
