"""What experts say of a split: predictions, probabilities, scores, and a table of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.evaluation import predictions as evaluation
from mmalign.evaluation.calibration import expected_calibration_error
from mmalign.evaluation.floors import score
from mmalign.experts.model import Experts


@dataclass(frozen=True)
class Answers:
    """One answer a clip.

    Attributes:
        predictions: Numbers, or indices of classes.
        shares: Probability of each class; none for numbers.
    """

    predictions: Labels
    shares: Float[np.ndarray, "clips classes"] | None

    def metrics(self, task: Task, labels: Labels) -> dict[str, float]:
        """The task's metrics; for classes also the expected calibration error, `ece`."""
        found = score(task, self.predictions, labels)
        if self.shares is None:
            return found
        return found | {"ece": expected_calibration_error(self.shares, labels)}


def answers(model: Experts, split: Split) -> Answers:
    """What the model says of each clip.

    Raises:
        DataError: If a clip has none of the model's modalities, or features that do not fit.
    """
    if model.fitted_task.outputs == 1:
        return Answers(model.predict(split), None)
    shares = model.predict_proba(split)
    return Answers(np.asarray(shares.argmax(axis=1), np.int64), shares)


def answer_table(
    model: Experts, splits: Mapping[str, Split], found: Mapping[str, Answers]
) -> pa.Table:
    """Split, id, prediction, label where known, probabilities, and which modalities were there.

    `used` names those that a clip has, of the model's; `has_<modality>` says it for each.

    Args:
        model: What answered.
        splits: The clips.
        found: What it said of each split.
    """
    said = {
        n: evaluation.Answers(s, found[n].predictions, found[n].shares) for n, s in splits.items()
    }
    return evaluation.answer_table(
        model.fitted_task, said, modalities=list(model.experts), victim=None
    )
