"""Spaces of settings to search: choices, ranges, and the points that they make."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mmalign.errors import ConfigError
from mmalign.training.config import Config
from mmalign.training.methods import configure

Value = bool | int | float | str
Point = dict[str, Value]

MOST_POINTS = 100_000
SIZE = ("dim", "heads")
NOT_SEARCHED = {
    "method": "choose it with --method",
    "seed": "a seed is not a setting; --seeds averages over several",
}


@dataclass(frozen=True)
class Choice:
    """One of these values."""

    values: tuple[Value, ...]

    def extremes(self) -> tuple[Value, ...]:
        """Values that show whether all of them make sense: each one."""
        return self.values

    def nearest(self, value: Value) -> Value:
        """The value itself if it can be chosen, else the first."""
        return value if value in self.values else self.values[0]


@dataclass(frozen=True)
class Range:
    """Any number between two; whole numbers if both ends are whole.

    Attributes:
        low: The smallest value.
        high: The largest value.
        is_log: Whether it is searched on a logarithmic scale.
        step: Distance of neighbouring whole numbers; fractions have none.
    """

    low: float
    high: float
    is_log: bool = False
    step: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def extremes(self) -> tuple[Value, ...]:
        """Values that show whether all of them make sense: both ends."""
        return self.low, self.high

    def nearest(self, value: Value) -> Value:
        """The value of the range that is closest."""
        inside = min(max(float(value), self.low), self.high)
        if not self.is_whole:
            return inside
        return int(self.low) + round((inside - self.low) / self.step) * self.step


Dimension = Choice | Range


@dataclass(frozen=True)
class Space:
    """Settings to search, by name.

    A space of choices only is a grid: every point is tried once. With a range in it, it is sampled.

    >>> Space("mine", {"window": Choice((4, 8)), "dim": Choice((32, 40))}).is_grid
    True
    """

    name: str
    dimensions: Mapping[str, Dimension]

    @property
    def is_grid(self) -> bool:
        """Whether there are choices only."""
        return all(isinstance(dimension, Choice) for dimension in self.dimensions.values())

    def constants(self) -> Point:
        """Settings that have one value only."""
        return {
            name: dimension.values[0]
            for name, dimension in self.dimensions.items()
            if isinstance(dimension, Choice) and len(dimension.values) == 1
        }

    def without(self, names: Mapping[str, Any]) -> "Space":
        """The space without these settings."""
        rest = {name: d for name, d in self.dimensions.items() if name not in names}
        return Space(self.name, rest)

    def nearest(self, settings: Mapping[str, Value]) -> Point:
        """The point of the space that is closest to the settings."""
        return {name: d.nearest(settings[name]) for name, d in self.dimensions.items()}

    def points(self, settings: Mapping[str, Value]) -> list[Point]:
        """All points of a grid whose heads divide their dim, in the order of the choices.

        Args:
            settings: Settings that are not searched.
        """
        names = list(self.dimensions)
        values = [d.values for d in self.dimensions.values() if isinstance(d, Choice)]
        rest = {"dim": Config.dim, "heads": Config.heads, **settings}
        points = (dict(zip(names, point, strict=True)) for point in itertools.product(*values))
        return [point for point in points if _fits({**rest, **point})]

    def check(self, settings: Mapping[str, Value]) -> None:
        """Check that every point is a sensible config.

        Args:
            settings: Settings that are not searched.

        Raises:
            ConfigError: If not, with all problems.
        """
        if not self.dimensions:
            raise ConfigError(
                f"there is nothing to search: every setting of the space {self.name!r} is fixed, "
                "or of no use to the method"
            )
        refused = [
            f"{n} is not searched: {why}" for n, why in NOT_SEARCHED.items() if n in self.dimensions
        ]
        if refused:
            raise ConfigError(refused)
        size = math.prod(len(d.values) for d in self.dimensions.values() if isinstance(d, Choice))
        if self.is_grid and size > MOST_POINTS:
            raise ConfigError(
                f"the grid {self.name!r} has {size} points, more than {MOST_POINTS}; "
                "give ranges instead of choices, or fewer of them"
            )
        base = {**settings, **self.size(settings)}
        problems: dict[str, None] = {}  # a set that keeps its order
        for name, dimension in self.dimensions.items():
            if name in ("dim", "heads"):
                continue
            for value in dimension.extremes():
                try:
                    configure({**base, name: value})
                except ConfigError as error:
                    problems |= dict.fromkeys(error.problems)
        if problems:
            raise ConfigError([f"space {self.name!r}: {problem}" for problem in problems])

    def size(self, settings: Mapping[str, Value]) -> Point:
        """A dim and heads that fit.

        Args:
            settings: Settings that are not searched.

        Raises:
            ConfigError: If none do; or, in a sampled space, if not all of them do.
        """
        rest = {"dim": Config.dim, "heads": Config.heads, **settings}
        searched = {name: _whole_values(self.dimensions.get(name), rest[name]) for name in SIZE}
        pairs = [
            dict(zip(SIZE, pair, strict=True)) for pair in itertools.product(*searched.values())
        ]
        fitting = [pair for pair in pairs if _fits(pair)]
        if not fitting or (not self.is_grid and len(fitting) < len(pairs)):
            wrong = next(pair for pair in pairs if not _fits(pair))
            raise ConfigError(
                f"space {self.name!r}: heads ({wrong['heads']}) must divide dim ({wrong['dim']}); "
                "choose others, or give dim a step"
            )
        return fitting[0]

    def to_json(self) -> dict[str, Any]:
        """The space as plain values."""
        return {
            name: list(d.values)
            if isinstance(d, Choice)
            else {field.name: getattr(d, field.name) for field in fields(d)}
            for name, d in self.dimensions.items()
        }


def _fits(settings: Mapping[str, Any]) -> bool:
    dim, heads = settings["dim"], settings["heads"]
    are_whole = isinstance(dim, int) and isinstance(heads, int)
    return bool(are_whole and heads >= 1 and dim >= 2 and dim % heads == 0)


def _whole_values(dimension: Dimension | None, otherwise: Value) -> Iterator[Value]:
    """The values of `dim` or `heads`."""
    match dimension:
        case None:
            yield otherwise
        case Choice(values):
            yield from values
        case Range(low, high, step=step):
            yield from range(int(low), int(high) + 1, step)
