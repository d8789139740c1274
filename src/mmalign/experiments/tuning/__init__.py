"""Search for the settings that validate best; resumable, on several processes, blind to test."""

from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.trial import Trial
from mmalign.experiments.tuning.tune import Tuned, require_optuna, tune

__all__ = ["Search", "Trial", "Tuned", "require_optuna", "tune"]
