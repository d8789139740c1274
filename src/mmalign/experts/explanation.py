"""Why experts answer as they do: what each modality says, and what the others say without it."""

from dataclasses import dataclass

from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.experts.answers import answers
from mmalign.experts.model import Experts


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
    """What one modality has to do with the answer.

    Attributes:
        evidence: How much it speaks for the answer's class, beside the mean over classes; or its
            own number.
        alone: What the model says of this modality alone.
        without: What it says without this modality; none where nothing else is there.
    """

    evidence: float
    alone: Answer
    without: Answer | None


@dataclass(frozen=True)
class Explanation:
    """The answer to one clip, taken apart by the modalities that it has."""

    answer: Answer
    shares: dict[str, Share]


def explain_clip(model: Experts, clip: Split) -> Explanation:
    """Take the answer to a split of one clip apart.

    Raises:
        DataError: If the clip has none of the model's modalities, or features that do not fit.
    """
    names = [n for n in model.experts if n in clip.sequences and clip.is_present(n)[0]]
    whole = answers(model, clip)
    said = int(whole.predictions[0]) if whole.shares is not None else 0
    shares = {}
    for name in names:
        rest = [other for other in names if other != name]
        alone = clip.only([name])
        shares[name] = Share(
            _evidence(model, alone, said),
            _answer(model, alone, said),
            _answer(model, clip.only(rest), said) if rest else None,
        )
    return Explanation(_answer(model, clip, said), shares)


def _evidence(model: Experts, clip: Split, said: int) -> float:
    found = model.evidence(clip)[0]
    return float(found[said] - found.mean()) if len(found) > 1 else float(found[0])


def _answer(model: Experts, clip: Split, said: int) -> Answer:
    found = answers(model, clip)
    if found.shares is None or not isinstance(model.fitted_task, Classification):
        number = float(found.predictions[0])
        return Answer(f"{number:.3f}", None, number)
    own = int(found.predictions[0])
    shares = found.shares[0]
    return Answer(model.fitted_task.classes[own], float(shares[own]), float(shares[said]))
