"""The best epoch on validation data, and when to stop looking for a better one."""

from dataclasses import dataclass, field

from torch import Tensor

from mmalign.data.split import Split
from mmalign.data.task import Classification, Task
from mmalign.predictor.predictor import Predictor

State = dict[str, Tensor]


@dataclass
class Selection:
    """Keeps the weights of the epoch that scored best on one validation set.

    Attributes:
        best_score: The score to beat; larger is better, ties go to the lower loss.
        best_epoch: When it was reached; 0 before the first epoch.
        best_state: The weights of that epoch.
    """

    best_score: tuple[float, float] = (-float("inf"), -float("inf"))
    best_epoch: int = 0
    best_state: State = field(default_factory=dict)

    def offer(self, epoch: int, score: tuple[float, float], state: State) -> bool:
        """Keep the state if the score is better; tells whether it was."""
        if not score > self.best_score:  # a NaN score is never better
            return False
        self.take(epoch, score, state)
        return True

    def take(self, epoch: int, score: tuple[float, float], state: State) -> None:
        """Keep the state, whatever its score."""
        self.best_score = score
        self.best_epoch = epoch
        self.best_state = {name: tensor.detach().clone() for name, tensor in state.items()}

    def is_exhausted(self, epoch: int, *, patience: int, warm_up: int) -> bool:
        """Whether the last better epoch lies further back than patience allows.

        Patience starts when the warm-up is over.
        """
        return epoch - max(self.best_epoch, warm_up) >= patience


GATES = (1.0, 0.75, 0.5, 0.25, 0.0)


def selection_score(task: Task, metrics: dict[str, float]) -> tuple[float, float]:
    """What validation compares: weighted F1 or negative MAE; then the negative loss, if any."""
    main = metrics["weighted_f1"] if isinstance(task, Classification) else -metrics["mae"]
    return main, -metrics.get("loss", 0.0)


def choose_gate(predictor: Predictor, valid: Split) -> float:
    """Set the gate, of all members alike, to the weight that scores best on validation clips.

    Ties go to the larger weight, so that a victim that is there is used unless it hurts.
    """
    scores = {}
    for weight in GATES:
        predictor.set_gate(weight)
        scores[weight] = selection_score(predictor.task, predictor.evaluate(valid))
    best = max(scores, key=lambda weight: (scores[weight], weight))
    predictor.set_gate(best)
    return best
