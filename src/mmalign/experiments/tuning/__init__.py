"""Search for the settings that validate best; resumable, on any engine, blind to test."""

from mmalign.experiments.tuning.search import SEEN, Search
from mmalign.experiments.tuning.trial import Trial
from mmalign.experiments.tuning.tune import Tuned, require_optuna, tune

__all__ = ["SEEN", "Search", "Trial", "Tuned", "require_optuna", "tune"]
