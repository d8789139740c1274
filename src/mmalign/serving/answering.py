"""From clips to answers: the model is asked as `mmalign predict` asks it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from mmalign.data.gaps import observed_in
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import DataError
from mmalign.estimator import MMAlign
from mmalign.serving.asking import Asked, PlainAnswer
from mmalign.serving.facts import Facts


@dataclass(frozen=True)
class Answering:
    """Answers for many clips at once; which clips share a batch changes no answer.

    Attributes:
        model: What predicts.
        facts: What is known about it.
    """

    model: MMAlign
    facts: Facts

    def __call__(self, clips: Sequence[Asked]) -> list[PlainAnswer]:
        """One answer a clip, in order.

        Raises:
            DataError: If the model has no finite answer for a clip.
        """
        split = self._split(clips)
        if isinstance(self.facts.task, Classification):
            shares = self.model.predict_proba(split)
            _require_finite(shares)
            said = [self._of_shares(row, self.facts.task) for row in shares]
        else:
            numbers = self.model.predict(split)
            _require_finite(numbers)
            said = [{"prediction": n, "probabilities": None} for n in numbers.tolist()]
        gaps = self._gaps(clips)
        return [self._whole(*each) for each in zip(clips, said, gaps, strict=True)]

    def _of_shares(self, shares: Float[np.ndarray, " classes"], task: Classification) -> Any:
        named = dict(zip(task.classes, shares.tolist(), strict=True))
        return {"prediction": task.classes[int(shares.argmax())], "probabilities": named}

    def _gaps(self, clips: Sequence[Asked]) -> list[dict[str, int]]:
        """Missing steps inside each clip's sequences, where there are any."""
        gaps: list[dict[str, int]] = [{} for _ in clips]
        for name in self.facts.dims:
            there = [
                (row, clip.sequences[name])
                for row, clip in enumerate(clips)
                if name in clip.sequences
            ]
            if (
                there
                and not observed_in(np.concatenate([steps[:, :1] for _, steps in there])).all()
            ):
                counts = [(row, int((~observed_in(steps)).sum())) for row, steps in there]
                for row, count in counts:
                    gaps[row] |= {name: count} if count else {}
        return gaps

    def _whole(self, clip: Asked, said: PlainAnswer, gaps: dict[str, int]) -> PlainAnswer:
        missing = [name for name in self.facts.dims if name not in clip.sequences]
        answer = {
            "id": clip.id,
            **said,
            "used": [name for name in self.facts.dims if name in clip.sequences],
            "missing": missing,
            "imputed": [name for name in missing if name in self.facts.imputes],
            "gaps": gaps,
        }
        if clip.wants_plans:
            answer["plans"] = self._plans(clip)
        return answer

    def _plans(self, clip: Asked) -> list[PlainAnswer]:
        split = self._split([clip])
        there = [(s, t) for s, t in self.facts.directions if s in clip.sequences]
        return [
            {
                "source": source,
                "target": target,
                "is_predicted": target not in clip.sequences,
                "mass": self.model.align(split, source, target)[0].tolist(),
            }
            for source, target in there
        ]

    def _split(self, clips: Sequence[Asked]) -> Split:
        """The clips as columns; they were checked when they came in."""
        names = [name for name in self.facts.dims if any(name in c.sequences for c in clips)]
        split = Split(
            ids=tuple(str(row) for row in range(len(clips))),
            labels=None,
            sequences={name: [c.sequences.get(name) for c in clips] for name in names},
            task=self.facts.task,
            gapped=frozenset(names),
        )
        return split.checked_finite()


def _require_finite(answers: Shaped[np.ndarray, "clips ..."]) -> None:
    """Refuse what is no answer: features that float32 just holds may overflow inside a model."""
    if not np.isfinite(answers).all():
        raise DataError(
            "the model's output is not finite",
            fix="Look for extreme feature values, or scale them.",
        )
