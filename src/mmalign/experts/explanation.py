"""Why experts answer as they do: what each one adds, and what is said without a modality."""

from dataclasses import dataclass

import numpy as np

from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.experts.answers import answers
from mmalign.experts.model import Experts
from mmalign.experts.panel import Panel


@dataclass(frozen=True)
class Answer:
    """An answer to one clip.

    Attributes:
        label: The class, or the number, as people read it.
        share: Probability of the class; none for a number.
        value: Probability of the class that the model says of the whole clip; or the number.
    """

    label: str
    share: float | None
    value: float

    def __str__(self) -> str:
        return self.label if self.share is None else f"{self.label} ({self.share:.2f})"


@dataclass(frozen=True)
class Share:
    """What one member of the panel has to do with the answer.

    Attributes:
        modalities: What it reads: one modality, or several together.
        evidence: How much it speaks for the answer's class, beside the mean over classes; or how
            far it moves the number away from the mean label.
    """

    modalities: tuple[str, ...]
    evidence: float


@dataclass(frozen=True)
class Explanation:
    """The answer to one clip, taken apart.

    Attributes:
        answer: What the model says of the clip.
        shares: The terms of its sum.
        alone: What it says of each modality alone.
        without: What it says without each modality, where others are there.
    """

    answer: Answer
    shares: list[Share]
    alone: dict[str, Answer]
    without: dict[str, Answer]


def explain_clip(model: Experts, clip: Split) -> Explanation:
    """Take the answer to a split of one clip apart.

    Raises:
        DataError: If the clip has none of the model's modalities, or features that do not fit.
    """
    whole = answers(model, clip)
    said = int(whole.predictions[0]) if whole.shares is not None else 0
    there = tuple(n for n in model.experts if clip.has_any([n])[0])
    parts = {name: [other for other in there if other != name] for name in there}
    return Explanation(
        _answer(model, clip, said),
        _shares(model.fitted, clip, there, said),
        {name: _answer(model, clip.only([name]), said) for name in there},
        {name: _answer(model, clip.only(rest), said) for name, rest in parts.items() if rest},
    )


def _shares(panel: Panel, clip: Split, there: tuple[str, ...], said: int) -> list[Share]:
    shares = []
    for names, weight in zip(panel.members_of(there), panel.weights[there], strict=True):
        sequences = panel.sequences(names, clip, np.array([0]))
        term = weight * (panel.members[names].evidence(sequences)[0] - panel.prior_of(names))
        moved = term[said] - term.mean() if len(term) > 1 else term[0]
        shares.append(Share(names, float(moved)))
    return shares


def _answer(model: Experts, clip: Split, said: int) -> Answer:
    found = answers(model, clip)
    if found.shares is None or not isinstance(model.fitted_task, Classification):
        number = float(found.predictions[0])
        return Answer(f"{number:.3f}", None, number)
    own = int(found.predictions[0])
    shares = found.shares[0]
    return Answer(model.fitted_task.classes[own], float(shares[own]), float(shares[said]))
