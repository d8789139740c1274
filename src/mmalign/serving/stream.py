"""A live stream: windows over modalities that arrive in chunks, and may stop arriving.

Each modality has a rate, so that its n-th frame has a time. The clock is the time of the newest
frame of all. A window is due when every modality has reached its end, or when one lags behind by
more than the patience: then it counts as missing, until it arrives again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mmalign.data.clip import Steps
from mmalign.errors import ConfigError

SLOWEST, FASTEST = 1e-6, 1e6
"""Frames a second, between which times can be told apart."""

MOST_FRAMES = 1 << 48
"""Beyond so many, the float that tells when a frame was recorded no longer tells which it is."""


@dataclass(frozen=True, kw_only=True)
class StreamConfig:
    """How a stream is cut; times are in seconds.

    Attributes:
        rates: Frames a second of each modality that will arrive.
        window: How far back an answer looks.
        stride: Time between answers.
        patience: How far a modality may lag behind before it counts as missing.
        max_steps: Most frames of a window.
    """

    rates: Mapping[str, float]
    window: float
    stride: float
    patience: float
    max_steps: int

    def __post_init__(self) -> None:
        fastest = max(self.rates.values(), default=0.0)
        slowest = min(self.rates.values(), default=0.0)
        problems = [] if self.rates else ["rates must name at least one modality"]
        problems += [
            f"{name} must be a finite number > 0"
            for name in ("window", "stride", "patience")
            if not 0 < getattr(self, name) < math.inf
        ]
        if not all(SLOWEST <= rate <= FASTEST for rate in self.rates.values()):
            problems.append(f"rates must be between {SLOWEST:g} and {FASTEST:g} frames a second")
        if not problems and (self.window + self.patience) * fastest > self.max_steps:
            problems.append(f"window and patience hold more than max_steps={self.max_steps} frames")
        if not problems and self.window * slowest < 1:
            problems.append("window is shorter than a frame")
        if not problems and self.stride * fastest < 1:
            problems.append("stride is shorter than a frame")
        if problems:
            raise ConfigError(problems)


@dataclass(frozen=True)
class Window:
    """What is there at a moment.

    Attributes:
        time: The end of the window.
        sequences: Frames of the modalities that are there; NaN where one did not arrive.
        silent: When each modality that stopped was last heard, the others are not named.
    """

    time: float
    sequences: Mapping[str, Steps]
    silent: Mapping[str, float]


class Track:
    """The latest frames of one modality, by their number since the stream began."""

    def __init__(self, dim: int) -> None:
        self._frames: Steps = np.empty((0, dim), np.float32)
        self.start = 0

    @property
    def end(self) -> int:
        """The number that the next frame will have."""
        return self.start + len(self._frames)

    def append(self, frames: Steps, at: int, longest: int) -> None:
        """Add frames from a number on; a hole before them stays a gap, a long one ends the past."""
        hole = at - self.end
        if hole > longest or not len(self._frames):
            self._frames, self.start = frames, at
            return
        gap = np.full((hole, frames.shape[1]), np.nan, np.float32)
        self._frames = np.concatenate([self._frames, gap, frames])

    def forget_before(self, number: int) -> None:
        """Drop what no window will show again."""
        count = min(max(number - self.start, 0), len(self._frames))
        self._frames = self._frames[count:]
        self.start += count

    def between(self, first: int, end: int) -> Steps | None:
        """Frames with these numbers, NaN where one is not there; None if none is."""
        shown = np.full((end - first, self._frames.shape[1]), np.nan, np.float32)
        low, high = max(first, self.start), min(end, self.end)
        if low < high:
            shown[low - first : high - first] = self._frames[low - self.start : high - self.start]
        return None if np.isnan(shown[:, 0]).all() else shown


@dataclass
class Stream:
    """One session: frames go in, windows come out.

    Attributes:
        config: How it is cut.
        dims: Features a frame of each modality.
    """

    config: StreamConfig
    dims: Mapping[str, int]
    tracks: dict[str, Track] = field(init=False)
    silent: dict[str, float] = field(init=False, default_factory=dict)
    count: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.tracks = {name: Track(self.dims[name]) for name in self.config.rates}

    @property
    def clock(self) -> float:
        """The time of the newest frame."""
        return max(self._end(name) for name in self.tracks)

    @property
    def _due(self) -> float:
        return self.config.window + self.count * self.config.stride

    def push(self, frames: Mapping[str, Steps], at: float | None = None) -> list[Window]:
        """Take frames, and give the windows that are due.

        Args:
            frames: New frames of some modalities.
            at: When the first of them was recorded. Without it they follow on the last ones; those
                of a modality that was silent end now.

        Raises:
            ConfigError: If `at` lies before frames that are there already, or too far ahead.
        """
        if at is not None and not at * max(self.config.rates.values()) < MOST_FRAMES:
            raise ConfigError("at: too large. Count from the beginning of the stream, in seconds")
        back = {name for name in frames if name in self.silent and at is None}
        places = {name: self._place(name, at) for name in frames if name not in back}
        for name, number in places.items():
            self._append(name, frames[name], number)
        for name in back:
            now = self._number(name, self.clock)
            self._append(name, frames[name], max(self.tracks[name].end, now - len(frames[name])))
        return self._windows()

    def _append(self, name: str, frames: Steps, number: int) -> None:
        self.tracks[name].append(frames, number, self.config.max_steps)
        self.silent.pop(name, None)

    def _place(self, name: str, at: float | None) -> int:
        """The number of the first of these frames."""
        end = self.tracks[name].end
        if at is None:
            return end
        number = self._number(name, at)
        if number < end:
            raise ConfigError(f"at: {name} is already known up to {self._end(name):g} s")
        return number

    def _windows(self) -> list[Window]:
        windows = []
        while self.clock >= self._due - 1e-9:
            if not self._is_settled(self._due):
                break
            window = self._window(self._due)
            if window is None:
                self.count = max(self.count + 1, self._first_count())
                continue
            windows.append(window)
            self.count += 1
            for name, track in self.tracks.items():
                track.forget_before(self._number(name, self._due - self.config.window))
        return windows

    def _is_settled(self, due: float) -> bool:
        """Whether all have arrived that will; who is too late counts as missing from now on."""
        late = [
            name
            for name, track in self.tracks.items()
            if name not in self.silent and track.end < self._number(name, due)
        ]
        if late and self.clock < due + self.config.patience - 1e-9:
            return False
        for name in late:
            self.silent[name] = self._end(name)
            self.tracks[name].forget_before(self.tracks[name].end)
        return True

    def _window(self, due: float) -> Window | None:
        found = {}
        for name, track in self.tracks.items():
            first = self._number(name, due - self.config.window)
            shown = track.between(first, max(self._number(name, due), first + 1))
            if shown is not None and name not in self.silent:
                found[name] = shown
        return Window(due, found, dict(self.silent)) if found else None

    def _first_count(self) -> int:
        """The first window that ends after the oldest frame that is still known."""
        starts = [t.start / self.config.rates[n] for n, t in self.tracks.items() if t.end > t.start]
        late = min(starts, default=0.0) - self.config.window
        return max(0, math.floor(late / self.config.stride))

    def _number(self, name: str, time: float) -> int:
        return round(time * self.config.rates[name])

    def _end(self, name: str) -> float:
        return self.tracks[name].end / self.config.rates[name]
