"""The record of a search: an Optuna study in a SQLite file, which also proposes the points."""

import math
import random
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
from optuna.samplers import BaseSampler, PartialFixedSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from mmalign.errors import MMAlignError
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.spaces import Choice, Dimension, Point
from mmalign.experiments.tuning.trial import Fate, Trial

NAME = "mmalign"
WAIT_SECONDS = 60.0
FATES: dict[TrialState, Fate] = {
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "complete",
    # Optuna's sampler stays away from pruned points and forgets failed ones, hence the two words.
    TrialState.PRUNED: "diverged",
    TrialState.FAIL: "interrupted",
}


class Study:
    """The trials of a search, and the points to try next.

    Args:
        search: What is searched.
        file: The database.

    Raises:
        MMAlignError: If the database cannot be read.
    """

    def __init__(self, search: Search, file: Path) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.search = search
        self.file = file
        self.distributions = {n: _distribution(d) for n, d in search.searched.dimensions.items()}
        self.points = _shuffled_points(search)
        with self._readable():
            self.study = optuna.create_study(
                storage=_storage(file), study_name=NAME, direction="maximize", load_if_exists=True
            )

    def trials(self) -> list[Trial]:
        """All trials so far, in the order of their numbers.

        Raises:
            MMAlignError: If the database cannot be read.
        """
        with self._readable():
            return [_to_trial(frozen) for frozen in self.study.get_trials(deepcopy=False)]

    def take(self, most: int) -> Iterator[Trial]:
        """Trials to do: first those that a killed process left, then new ones, up to so many.

        Raises:
            MMAlignError: If the database cannot be read.
        """
        left = [trial for trial in self.trials() if trial.state == "running"]
        for trial in left:
            if trial.point.keys() == self.distributions.keys():
                yield trial
            else:  # killed while its point was written
                self._close(trial, TrialState.FAIL)
        while (asked := self._ask(most)) is not None:
            yield asked

    def tell(self, trial: Trial, score: float | None, **notes: Any) -> None:
        """Record the score of a trial and what else is known of it; None if training diverged.

        Raises:
            MMAlignError: If the database cannot be written.
        """
        self._close(trial, TrialState.PRUNED if score is None else score, **notes)

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

    def _ask(self, most: int) -> Trial | None:
        """A new trial; None if there are enough, or a grid is exhausted."""
        counted = [trial for trial in self.trials() if trial.counts]
        with self._readable():
            sampler = self._sampler(counted) if len(counted) < most else None
            if sampler is None:
                return None
            self.study.sampler = sampler
            asked = self.study.ask(self.distributions)
            return Trial(number=asked.number, state="running", point=dict(asked.params))

    def _close(self, trial: Trial, outcome: float | TrialState, **notes: Any) -> None:
        with self._readable():
            frozen = self.study.get_trials(deepcopy=False)[trial.number]
            open_trial = optuna.trial.Trial(self.study, frozen._trial_id)
            for name, value in notes.items():
                open_trial.set_user_attr(name, value)
            if isinstance(outcome, TrialState):
                self.study.tell(trial.number, state=outcome)
            else:
                self.study.tell(trial.number, outcome)

    def _sampler(self, counted: list[Trial]) -> BaseSampler | None:
        """The sampler of the next point; None if a grid is exhausted.

        It depends on the trials that count alone, so that a search on one worker that was killed
        and resumed tries the same points as one that was not.
        """
        if self.points is not None:
            tried = {frozenset(trial.point.items()) for trial in counted}
            left = (point for point in self.points if frozenset(point.items()) not in tried)
            point = next(left, None)
            return None if point is None else PartialFixedSampler(point, RandomSampler())
        if not counted:
            return PartialFixedSampler(self.search.default_point(), RandomSampler())
        seed = random.Random(f"{self.search.search_seed} {len(counted)}").getrandbits(32)  # noqa: S311
        return TPESampler(seed=seed, constant_liar=True)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            try:
                yield
            except (
                sqlalchemy.exc.SQLAlchemyError,
                sqlite3.Error,
                OptunaError,
                RuntimeError,
            ) as error:
                reason = str(error.__cause__ or error).splitlines()[0]
                raise MMAlignError(
                    f"{self.file}: not a study that can be read ({reason}). "
                    "Restore it, or give another --out."
                ) from error


def _shuffled_points(search: Search) -> list[Point] | None:
    """A grid's points in the order in which they are tried; None for a sampled space."""
    if not search.searched.is_grid:
        return None
    points = search.searched.points(search.fixed)
    random.Random(search.search_seed).shuffle(points)  # noqa: S311
    return points


def _storage(file: Path) -> optuna.storages.RDBStorage:
    def connect() -> sqlite3.Connection:
        # A dashboard may be reading.
        return sqlite3.connect(file, timeout=WAIT_SECONDS, check_same_thread=False)

    # The path goes past the URL, in which some characters would have a meaning.
    return optuna.storages.RDBStorage("sqlite:///study.db", engine_kwargs={"creator": connect})


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
