"""One model for every subset of modalities: the answer is a sum over what a clip has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int64, Shaped

from mmalign.data.grouping import Groups, with_groups
from mmalign.data.intake import (
    Clips,
    features_of,
    gathered,
    labelled,
    modalities_in,
    task_of,
    taught,
)
from mmalign.data.non_finite import require_finite
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.data.widths import require_any, require_widths
from mmalign.errors import DataError, MMAlignError, no_modality
from mmalign.evaluation.floors import score
from mmalign.evaluation.predictions import check_finite
from mmalign.experts.contract import EPOCHS, Evidence, Lesson
from mmalign.experts.modality import ModalityExperts, learn_modality
from mmalign.experts.panel import Learn, Panel, learn_panel, steps_of
from mmalign.experts.saving import Card, load_experts, pack_panel, save_experts, unpack_panel
from mmalign.experts.senses import Senses
from mmalign.experts.weights import shown_by_others

MOST = 0.5
"""Groups can be left out if others have shown the classes of more than this share of clips."""


class Experts:
    """Predicts from whatever modalities a clip has; nothing is imputed.

    Each modality has experts of its own, which turn its sequence into evidence. The evidence of the
    modalities that a clip has is added up, those that few training clips had counting less.

    Args:
        modalities: Which to use; all that the training clips have by default.
        seed: Initial weights, random features, order of batches.
        epochs: Passes of the networks over the clips; half as many where steps are words.
        members: Networks of each expert, with different initial weights and orders of batches,
            whose answers are averaged; see docs/experts.md for what more than one brings.
        senses: For a modality, what of its input sense is given, such as `{"centre": True}`; the
            rest is chosen. See docs/experts.md.

    >>> Experts(["pose", "wrist"], seed=1)
    Experts(['pose', 'wrist'], seed=1)
    """

    def __init__(
        self,
        modalities: Sequence[str] | None = None,
        *,
        seed: int = 0,
        epochs: int = EPOCHS,
        members: int = 1,
        senses: Senses | None = None,
    ) -> None:
        self.modalities = None if modalities is None else list(modalities)
        self.seed = seed
        self.epochs = epochs
        self.members = members
        self.senses = senses or {}
        self.panel: Panel | None = None

    def __repr__(self) -> str:
        chosen = "" if self.modalities is None else f"{self.modalities!r}, "
        return f"Experts({chosen}seed={self.seed})"

    def fit(
        self,
        train: Clips,
        groups: Groups | None = None,
        *,
        learn: Learn = lambda _, lesson: learn_modality(lesson),
    ) -> "Experts":
        """Learn from clips, of which any may lack any modality.

        Args:
            train: Labelled training clips.
            groups: The person or video of each clip, or a function from its id to it; without it,
                as the data tells. How sequences are centred and scaled and how much each modality
                counts is then chosen on people or videos that were left out, otherwise on single
                clips.
            learn: What makes a modality's experts; a run that was stopped remembers them.

        Raises:
            DataError: If a modality or the labels are not in the clips, a clip has no modality at
                all, or a value is not finite.
        """
        split, lessons = self.lessons(train, groups)
        self.panel = learn_panel(split, lessons, learn)
        return self

    def lessons(
        self, train: Clips, groups: Groups | None = None
    ) -> tuple[Split, dict[str, Lesson]]:
        """The clips, and what the experts of each modality learn from; see `fit`.

        Raises:
            DataError: As `fit` does, but before anything is learned.
        """
        rows = with_groups(gathered(train), groups)
        task = task_of(rows)
        names = self.modalities or modalities_in(rows)
        for name in self.senses:
            if name not in names:
                raise no_modality(name, names, "There are")
        split = taught(rows, names, task)
        lessons = {
            name: replace(
                _lesson(split, name, task),
                seed=self.seed,
                epochs=self.epochs,
                networks=self.members,
                given=self.senses.get(name, {}),
            )
            for name in names
        }
        _require_classes(split, task)
        _check(split, {name: lesson.clips[0].shape[-1] for name, lesson in lessons.items()})
        return split, lessons

    @property
    def fitted(self) -> Panel:
        """What was learned.

        Raises:
            MMAlignError: If the model is not fitted yet.
        """
        if self.panel is None:
            raise MMAlignError("this model is not fitted. Call fit(clips) first.")
        return self.panel

    @property
    def experts(self) -> dict[str, ModalityExperts]:
        """The experts of each modality; none before `fit`."""
        if self.panel is None:
            return {}
        return {names[0]: one for names, one in self.panel.members.items() if len(names) == 1}

    @property
    def task(self) -> Task | None:
        """What is predicted; none before `fit`."""
        return None if self.panel is None else self.panel.task

    @property
    def fitted_task(self) -> Task:
        """What is predicted.

        Raises:
            MMAlignError: If the model is not fitted yet.
        """
        return self.fitted.task

    @property
    def classes_(self) -> Shaped[np.ndarray, " classes"]:
        """Names of the classes, in the order of their indices.

        Raises:
            AttributeError: If the model is not fitted or predicts numbers, as in scikit-learn.
        """
        if not isinstance(self.task, Classification):
            raise AttributeError("classes_: only a fitted classifier has classes")
        return np.array(self.task.classes)

    def evidence(self, clips: Clips) -> Evidence:
        """The sum over the modalities that each clip has.

        Raises:
            DataError: If a clip has none of the model's modalities, features that do not fit, or
                features so large that the sum is not finite.
        """
        rows = gathered(clips)
        require_known(rows, list(self.experts))
        split = features_of(rows, list(self.experts), self.fitted_task)
        dims = self.dims()
        _check(split, {name: dim for name, dim in dims.items() if name in split.sequences})
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.fitted.evidence(split)
            check_finite(found.astype(np.float32), split.ids)
        return found

    def dims(self) -> dict[str, int]:
        """Features a step of each modality."""
        return {name: len(experts.taps.inputs.mean) for name, experts in self.experts.items()}

    def weight(self, name: str) -> float:
        """How much a modality counts beside all others, between 0 and 1."""
        panel = self.fitted
        weights = panel.weights[panel.modalities]
        return float(weights[panel.modalities.index(name)] / max(weights.max(), 1e-12))

    def predict(self, clips: Clips) -> Labels:
        """One prediction a clip: a number, or the index of a class in `classes_`.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
        """
        found = self.evidence(clips)
        if self.fitted_task.outputs > 1:
            return np.asarray(found.argmax(axis=1), np.int64)
        return np.asarray(found[:, 0], np.float32)

    def predict_proba(self, clips: Clips) -> Float[np.ndarray, "clips classes"]:
        """Probability of each class, in the order of `classes_`.

        Raises:
            DataError: If a clip has none of the model's modalities, or features that do not fit.
            MMAlignError: If the task is regression.
        """
        found = self.evidence(clips)
        if self.fitted_task.outputs == 1:
            raise MMAlignError("probabilities need a classification task. Use predict.")
        shares = np.exp(found - found.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def score(self, clips: Clips) -> dict[str, float]:
        """The task's metrics on labelled clips.

        Raises:
            DataError: If a clip has no label, or none of the model's modalities.
        """
        rows = gathered(clips)
        require_known(rows, list(self.experts))
        split = labelled(rows, list(self.experts), self.fitted_task)
        if split.labels is None:
            raise DataError("there are no labels", fix="Give each clip one.")
        return score(self.fitted_task, self.predict(split), split.labels)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model into a directory, as safetensors and JSON with a hash.

        Raises:
            MMAlignError: If the model is not fitted, or the directory holds something else.
        """
        save_experts(Path(path), *self.packed())

    def packed(self) -> tuple[bytes, Card]:
        """All that was learned: arrays as safetensors, and the rest as plain values.

        Raises:
            MMAlignError: If the model is not fitted.
        """
        return pack_panel(self.fitted, seed=self.seed, epochs=self.epochs)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Experts":
        """The model that `save` wrote.

        Raises:
            CorruptArtifactError: If a file is not as it was written.
        """
        return cls.unpacked(*load_experts(Path(path)))

    @classmethod
    def unpacked(cls, payload: bytes, card: Card) -> "Experts":
        """The model that `packed` gave.

        Raises:
            CorruptArtifactError: If it gave something else.
        """
        panel = unpack_panel(payload, card)
        networks = next(iter(panel.members.values())).taps.networks
        recipe = {"seed": card["seed"], "epochs": card["epochs"], "members": len(networks)}
        model = cls(list(panel.modalities), **recipe)
        model.panel = panel
        return model


def _check(split: Split, dims: Mapping[str, int]) -> None:
    """Check that every clip has one of these modalities, the right width, finite numbers."""
    require_any(split, dims)
    require_widths(split, dims)
    require_finite(split)


def _require_classes(split: Split, task: Task) -> None:
    """Check that training clips are of two classes or more."""
    if isinstance(task, Classification) and len(set(np.asarray(split.labels).tolist())) == 1:
        raise DataError(
            f"all training clips are of class {task.classes[int(np.asarray(split.labels)[0])]!r}",
            fix="Give clips of two classes or more, or numbers to predict as floats.",
        )


def _lesson(split: Split, name: str, task: Task) -> Lesson:
    rows = np.flatnonzero(split.has_any([name]))
    steps = steps_of(split, name, rows)
    if len(steps) < 2 or split.labels is None:
        raise DataError(
            "fewer than two training clips have the modality",
            modality=name,
            fix="Leave it out with modalities=[…], or give more clips that have it.",
        )
    own = None if split.groups is None else np.array(split.groups)[rows]
    groups = None if own is None else np.unique(own, return_inverse=True)[1]
    labels = split.labels[rows]
    return Lesson(steps, labels, task, groups if _can_tell(groups, labels, task) else None, seed=0)


def _can_tell(groups: Int64[np.ndarray, " clips"] | None, labels: Labels, task: Task) -> bool:
    """Whether groups can be left out: others have shown the classes of more than half the clips."""
    if groups is None or len(np.unique(groups)) == 1:
        return False
    return task.outputs == 1 or bool(shown_by_others(np.asarray(labels), groups).mean() > MOST)
