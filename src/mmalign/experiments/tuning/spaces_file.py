"""Spaces in TOML files: ours, by name, or a user's own."""

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from mmalign.errors import ConfigError, suggestion
from mmalign.experiments.tuning.spaces import (
    NOT_SEARCHED,
    Choice,
    Dimension,
    Range,
    Space,
    Value,
)
from mmalign.training.config import Config, read_config

TYPES: Mapping[str, Any] = {field.name: field.type for field in fields(Config)}
RANGE_KEYS = ("low", "high", "log", "step")


def find_space(name: str) -> Space:
    """The space of that name, or the one in that TOML file.

    Raises:
        ConfigError: If there is none, or the file makes no sense.
    """
    if name in SPACES:
        return SPACES[name]
    file = Path(name)
    if file.suffix == ".toml" or file.is_file():
        return read_space(file)
    hint = suggestion(name, SPACES)
    raise ConfigError(f"unknown space {name!r} (or give a TOML file of your own); {hint}")


def read_space(file: Path) -> Space:
    """The space in a TOML file.

    A list is a choice, a table with `low` and `high` (and `log` or `step`) a range, a plain value
    is fixed:

        window = [4, 8]
        learning_rate = { low = 1e-4, high = 1e-2, log = true }
        epochs = 20

    Raises:
        ConfigError: If it cannot be read or makes no sense; with all problems.
    """
    return _to_space(str(file), read_config(file))


def _to_space(title: str, content: Mapping[str, Any]) -> Space:
    problems: list[str] = []
    dimensions: dict[str, Dimension] = {}
    for name, given in content.items():
        try:
            dimensions[name] = _dimension(name, given)
        except ConfigError as error:
            problems += error.problems
    if not content:
        problems.append("names no setting")
    if problems:
        raise ConfigError([f"{title}: {problem}" for problem in problems])
    return Space(title, dimensions)


def _dimension(name: str, given: Any) -> Dimension:
    if name not in TYPES:
        raise ConfigError(f"unknown setting {name!r}; {suggestion(name, TYPES)}")
    if name in NOT_SEARCHED:
        raise ConfigError(f"{name} is not searched: {NOT_SEARCHED[name]}")
    if isinstance(given, dict):
        return _range(name, given)
    values = given if isinstance(given, list) else [given]
    if not values:
        raise ConfigError(f"{name} has no choices; give it at least one")
    # Equal values, but not True and 1, would be two points of a grid that are one.
    return Choice(tuple(dict.fromkeys(_typed(name, value) for value in values)))


def _range(name: str, given: dict[str, Any]) -> Range:
    unknown = sorted(given.keys() - set(RANGE_KEYS))
    if unknown or "low" not in given or "high" not in given:
        raise ConfigError(
            f"{name} is not a range: it needs low and high, and may have log or step; "
            f"got {', '.join(given) or 'nothing'}"
        )
    if TYPES[name] not in (int, float):
        raise ConfigError(f"{name} is not a number; list its choices")
    low, high = _typed(name, given["low"]), _typed(name, given["high"])
    is_log, step = given.get("log", False), given.get("step", 1)
    if not isinstance(is_log, bool):
        raise ConfigError(f"log of {name} must be true or false, got {is_log!r}")
    if not (-math.inf < low < high < math.inf):
        raise ConfigError(f"low of {name} must be below high, got {low!r} and {high!r}")
    if is_log and low <= 0:
        raise ConfigError(f"low of {name} must be > 0 on a log scale, got {low!r}")
    if "step" in given and (TYPES[name] is not int or is_log):
        raise ConfigError(f"step of {name}: only whole numbers without log have one")
    if type(step) is not int or step < 1 or (TYPES[name] is int and (high - low) % step):
        raise ConfigError(f"step of {name} must lead from low to high, got {step!r}")
    return Range(low, high, is_log, step)


def _typed(name: str, value: Any) -> Any:
    """The value as the setting's type: a whole number is welcome as a fraction."""
    if TYPES[name] is float and type(value) is int:
        return float(value)
    if type(value) is not TYPES[name]:
        raise ConfigError(f"{name} must be of type {TYPES[name].__name__}, got {value!r}")
    typed: Value = value
    return typed


SPACES: Mapping[str, Space] = {
    name: _to_space(name, content)
    for name, content in read_config(Path(__file__).with_name("spaces.toml")).items()
}
"""The paper's grids, and ranges around them."""
