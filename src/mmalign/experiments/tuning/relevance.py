"""Which settings a method has no use for: searching them would waste trials."""

from collections.abc import Iterable
from typing import Any, cast

from mmalign.training.config import Config
from mmalign.training.methods import find_method


class _Reading:
    """Stands in for a config and remembers which settings were read."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.config, name)


def useless_settings(config: Config, searched: Iterable[str]) -> dict[str, str]:
    """Of the searched settings, those that change nothing for the config's method, and why.

    A method has a use for the settings that its imputer reads while it is built.
    """
    reading = _Reading(config)
    imputer = find_method(config.method).make_imputer(cast(Config, reading))
    searched = set(searched)
    useless = {}
    if "epsilon" not in reading.names:
        useless["epsilon"] = f"{config.method} solves no plans"
    if "window" not in reading.names:
        # The contrast between steps looks through the window, too: it is searched with a method
        # that has a window of its own, or where the user asks for it.
        useless["step_contrast_weight"] = f"{config.method} has no window"
        if not config.step_contrast_weight:
            useless["window"] = f"{config.method} has no window"
    is_fitted = any(True for _ in imputer.parameters()) and (config.fit or "fit" in searched)
    if not is_fitted:
        useless["fit_learning_rate"] = f"{config.method} has nothing to fit"
    return {name: why for name, why in useless.items() if name in searched}
