"""The study that processes share: an Optuna study in a SQLite file, one turn at a time."""

import math
import random
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
import sqlalchemy.exc
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.exceptions import OptunaError
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from mmalign.errors import MMAlignError
from mmalign.experiments.tuning.folder import SearchFolder
from mmalign.experiments.tuning.objective import Validation
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.spaces import Choice, Dimension, Point
from mmalign.experiments.tuning.trial import Fate, Trial

NAME = "mmalign"
WAIT_SECONDS = 60.0
FATES: dict[TrialState, Fate] = {
    TrialState.RUNNING: "running",
    TrialState.WAITING: "running",
    TrialState.COMPLETE: "complete",
    # Optuna's sampler stays away from pruned points and forgets failed ones, hence the two words.
    TrialState.PRUNED: "diverged",
    TrialState.FAIL: "interrupted",
}


class SharedStudy:
    """The trials of a search; any number of processes may work on them.

    Who takes a trial, looks at all others first, with the study to itself: no point of a grid is
    tried twice, and no more trials are started than were asked for.

    Raises:
        MMAlignError: If the database cannot be read.
    """

    def __init__(self, search: Search, folder: SearchFolder) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.search = search
        self.folder = folder
        self.distributions = {n: _distribution(d) for n, d in search.searched.dimensions.items()}
        self.points = _shuffled_points(search)
        self.asked: dict[int, optuna.trial.Trial] = {}
        with self._turn():
            self.study = optuna.create_study(
                storage=_storage(folder), study_name=NAME, direction="maximize", load_if_exists=True
            )

    def trials(self) -> list[Trial]:
        """All trials so far, in the order of their numbers.

        Raises:
            MMAlignError: If the database cannot be read.
        """
        with self._turn():
            return self._trials()

    def take(self, worker: str, *, most: int) -> Trial | None:
        """A new trial for this worker; None if all are taken.

        Args:
            worker: Its name in the folder.
            most: How many trials there shall be.

        Raises:
            MMAlignError: If the database cannot be read.
        """
        with self._turn():
            self._give_up_orphans()
            counted = [trial for trial in self._trials() if trial.counts]
            sampler = self._sampler(counted) if len(counted) < most else None
            if sampler is None:
                return None
            self.study.sampler = sampler
            trial = self.study.ask(self.distributions)
            trial.set_user_attr("worker", worker)
            self.asked[trial.number] = trial
            return Trial(number=trial.number, state="running", point=dict(trial.params))

    def complete(self, trial: Trial, validation: Validation, seconds: float) -> None:
        """Record how a trial ended well.

        Raises:
            MMAlignError: If the database cannot be written.
        """
        with self._turn():
            self._close(trial, validation.score, loss=validation.loss, seconds=seconds)

    def diverge(self, trial: Trial, error: str, seconds: float) -> None:
        """Record that training failed at a trial's point.

        Raises:
            MMAlignError: If the database cannot be written.
        """
        with self._turn():
            self._close(trial, TrialState.PRUNED, error=error, seconds=seconds)

    def importances(self) -> dict[str, float]:
        """The share of each setting in what makes a trial good (PED-ANOVA), largest first.

        Empty if fewer than four trials are complete.
        """
        complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(complete) < 4:
            return {}
        # The method compares good trials with all of them; five good ones, if they can be spared.
        quantile = min(0.5, max(0.1, 5 / len(complete)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optuna.importance.get_param_importances(
                self.study,
                evaluator=optuna.importance.PedAnovaImportanceEvaluator(target_quantile=quantile),
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self.folder.turn(), _readable(self.folder), warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield

    def _trials(self) -> list[Trial]:
        return [_to_trial(frozen) for frozen in self.study.get_trials(deepcopy=False)]

    def _close(self, trial: Trial, outcome: float | TrialState, **notes: Any) -> None:
        asked = self.asked.pop(trial.number)
        for name, value in notes.items():
            asked.set_user_attr(name, value)
        if isinstance(outcome, TrialState):
            self.study.tell(asked, state=outcome)
        else:
            self.study.tell(asked, outcome)

    def _give_up_orphans(self) -> None:
        """Trials whose process died will not end; their points are free again."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        # A trial without a worker's name was cut at birth: who gives names holds the turn we hold.
        workers = {trial.user_attrs.get("worker", "") for trial in running}
        dead = {name for name in workers if not name or not self.folder.is_alive(name)}
        # Nobody finishes a trial without a turn, so what was running is still running.
        for trial in running:
            if trial.user_attrs.get("worker", "") in dead:
                self.study.tell(trial.number, state=TrialState.FAIL)

    def _sampler(self, counted: list[Trial]) -> BaseSampler | None:
        """Who chooses the next point; None if a grid is exhausted.

        It depends on the trials that count alone, so that a search in one process that was killed
        and resumed tries the same points as one that was not.
        """
        if self.points is not None:
            tried = {frozenset(trial.point.items()) for trial in counted}
            left = (point for point in self.points if frozenset(point.items()) not in tried)
            point = next(left, None)
            return None if point is None else OnePoint(point)
        if not counted:
            return OnePoint(self.search.default_point())
        seed = random.Random(f"{self.search.search_seed} {len(counted)}").getrandbits(32)  # noqa: S311
        return TPESampler(seed=seed, constant_liar=True)


class OnePoint(BaseSampler):
    """Samples the point it was given."""

    def __init__(self, point: Point) -> None:
        self.point = point

    def infer_relative_search_space(self, *_: Any) -> dict[str, BaseDistribution]:
        """Nothing is sampled jointly."""
        return {}

    def sample_relative(self, *_: Any) -> dict[str, Any]:
        """Nothing is sampled jointly."""
        return {}

    def sample_independent(self, _study: Any, _trial: Any, name: str, _distribution: Any) -> Any:
        """The point's own value."""
        return self.point[name]


def _shuffled_points(search: Search) -> list[Point] | None:
    """A grid's points in the order in which they are tried; None for a sampled space."""
    if not search.searched.is_grid:
        return None
    points = search.searched.points(search.fixed)
    random.Random(search.search_seed).shuffle(points)  # noqa: S311
    return points


def _storage(folder: SearchFolder) -> optuna.storages.RDBStorage:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(folder.database, timeout=WAIT_SECONDS, check_same_thread=False)

    # The path goes past the URL, in which some characters would have a meaning.
    return optuna.storages.RDBStorage("sqlite:///study.db", engine_kwargs={"creator": connect})


@contextmanager
def _readable(folder: SearchFolder) -> Iterator[None]:
    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, sqlite3.Error, OptunaError, RuntimeError) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise MMAlignError(
            f"{folder.database}: not a study that can be read ({reason}). "
            "Restore it, or give another --out."
        ) from error


def _distribution(dimension: Dimension) -> BaseDistribution:
    if isinstance(dimension, Choice):
        return CategoricalDistribution(dimension.values)
    if dimension.is_whole:
        low, high = int(dimension.low), int(dimension.high)
        return IntDistribution(low, high, log=dimension.is_log, step=dimension.step)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.is_log)


def _to_trial(frozen: FrozenTrial) -> Trial:
    notes = frozen.user_attrs
    return Trial(
        number=frozen.number,
        state=FATES[frozen.state],
        point=dict(frozen.params),
        score=math.nan if frozen.value is None else frozen.value,
        loss=notes.get("loss", math.nan),
        seconds=notes.get("seconds", math.nan),
        error=notes.get("error", ""),
    )
