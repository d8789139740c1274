"""How good a point is: the validation score of the selected epoch, averaged over seeds."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.spaces import Point
from mmalign.training.loop import Record, Training
from mmalign.training.selection import selection_score


@dataclass(frozen=True)
class Validation:
    """What a point scores on validation, larger is better; and its loss."""

    score: float
    loss: float


def validate_point(
    search: Search, point: Point, on_epoch: Callable[[Record], None] = lambda _: None
) -> Validation:
    """Train at a point with every seed of the search; the test split is not even there.

    Raises:
        TrainingError: If a loss is not finite.
    """
    scores = [_train(search, point, seed, on_epoch) for seed in search.seeds]
    means = [fmean(column) for column in zip(*scores, strict=True)]
    return Validation(score=means[0], loss=-means[1])


def _train(
    search: Search, point: Point, seed: int, on_epoch: Callable[[Record], None]
) -> tuple[float, float]:
    seen, setting = search.seen(seed), search.protocol.setting
    training = Training(
        seen,
        search.config_at(point, seed),
        visible=search.protocol.visible,
        victim=search.protocol.victim,
        validations={setting: seen["valid"]},
        device=search.device,
    )
    training.run(on_epoch)
    # Scored once more, as `mmalign train` would: a gate is chosen only when training is over.
    return selection_score(seen.task, training.select(setting).evaluate(seen["valid"]))
