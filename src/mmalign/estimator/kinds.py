"""Which estimator is meant; torch is imported for those that are networks only."""

from typing import Any

from mmalign.errors import ConfigError
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.runs.experts_artifact import is_of_experts
from mmalign.runs.manifest import Saved


def kind_of_call(args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The estimator that these arguments of `MMAlign` ask for; torch is for networks only."""
    named = len(args) + ("visible" in settings) + ("victim" in settings)
    method = settings.get("method")
    if named and (method == EXPERTS or "modalities" in settings):
        raise ConfigError("experts take modalities=[…], not visible= and victim=")
    if named == 1:
        asked = "MMAlign" if method is None else f"method {method!r}"
        raise ConfigError(f"{asked} imputes one modality from another: give visible= and victim=")
    if not named and method in (None, EXPERTS):
        from mmalign.estimator.experts import ExpertsMMAlign

        return ExpertsMMAlign
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.estimator.pair import PairMMAlign

    return PairMMAlign if named else NetworkMMAlign


def kind_of_saved(saved: Saved) -> Any:
    """The estimator that was saved; torch is imported for networks only."""
    if is_of_experts(saved):
        from mmalign.estimator.experts import ExpertsMMAlign

        return ExpertsMMAlign
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.estimator.pair import PairMMAlign

    return NetworkMMAlign if "modalities" in saved.settings else PairMMAlign
