"""The synthetic twin: parallel sequences whose true alignment is known.

Every clip shows symbols, none of them twice. Time is cut into blocks; inside a block the victim
shows the visible symbols turned around by some steps. How far a symbol moves (its lag) is written
in the visible step itself, so a learner that sees the visible side can know the lag, and one that
ignores it must guess. The label needs both sides: it joins the kind of the *victim's* first symbol
with a flag that only the visible side carries. When the victim is missing, its first
symbol can still be found on the visible side, by a learner that knows the lag.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.task import Classification
from mmalign.data.validation import validate
from mmalign.errors import ConfigError

Alignment = Int64[np.ndarray, " time"]
"""For each visible step, the victim step that shows the same symbol."""


@dataclass(frozen=True)
class Twin:
    """The dataset and, by clip id, its true alignment."""

    dataset: Dataset
    alignment: Mapping[str, Alignment]


@dataclass(frozen=True, kw_only=True)
class TwinConfig:
    """Size and difficulty of the twin.

    Attributes:
        clips: Clips of train, valid and test.
        shortest: Fewest steps of a clip.
        longest: Most steps of a clip.
        window: No lag is longer than this; 0 means that nothing moves.
        symbols: Different symbols, at least as many as the longest clip has steps; half of them
            are of the kind "high".
        dim: Features per step of either modality.
        noise: Standard deviation of the noise on every feature; a symbol has norm 1.
        plainness: How far the victim's symbols of the kind "high" are moved, all the same way. At 0
            a learner must know symbol by symbol which kind it is; the more, the plainer the victim
            shows it, while the visible side never does.
        seed: Another seed, other clips.
    """

    clips: tuple[int, int, int] = (1200, 300, 600)
    shortest: int = 12
    longest: int = 24
    window: int = 3
    symbols: int = 32
    dim: int = 24
    noise: float = 0.1
    plainness: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if min(self.clips) < 1:
            problems.append(f"every split needs a clip, got {self.clips}")
        if not 1 <= self.shortest <= self.longest:
            problems.append(f"lengths {self.shortest}..{self.longest} are not a range")
        if self.window < 0:
            problems.append(f"window must be >= 0, got {self.window}")
        if self.symbols < self.longest or self.symbols % 2:
            problems.append(f"symbols must be even and >= {self.longest}, got {self.symbols}")
        if self.dim < 4:
            problems.append(f"dim must be >= 4, got {self.dim}")
        if problems:
            raise ConfigError(problems)


def synthetic_twin(config: TwinConfig | None = None) -> Twin:
    """Make the twin; the same config gives the same bytes.

    >>> twin = synthetic_twin(TwinConfig(clips=(2, 1, 1), shortest=5, longest=5))
    >>> [len(split) for split in twin.dataset.splits.values()]
    [2, 1, 1]
    """
    config = config or TwinConfig()
    random = np.random.default_rng(config.seed)
    books = _Codebooks.draw(config, random)
    task = Classification(("low", "low, flagged", "high", "high, flagged"))
    alignment: dict[str, Alignment] = {}
    splits = {}
    for name, count in zip(SPLITS, config.clips, strict=True):
        clips = []
        for number in range(count):
            clip, truth = _make_clip(f"{name}-{number:05d}", config, books, random)
            clips.append(clip)
            alignment[clip.id] = truth
        splits[name] = Split.from_clips(clips, ["visible", "victim"], task)
    dims = {"visible": config.dim, "victim": config.dim}
    return Twin(validate(Dataset(task, dims, splits)), alignment)


@dataclass(frozen=True)
class _Codebooks:
    """How symbols, lags and the flag look in the features."""

    visible: Float32[np.ndarray, "symbols dim"]
    victim: Float32[np.ndarray, "symbols dim"]
    lags: Float32[np.ndarray, "lags dim"]
    flag: Float32[np.ndarray, " dim"]

    @staticmethod
    def draw(config: TwinConfig, random: np.random.Generator) -> "_Codebooks":
        books = _Codebooks(
            visible=_unit_rows(random, config.symbols, config.dim),
            victim=_unit_rows(random, config.symbols, config.dim),
            lags=_unit_rows(random, 2 * config.window + 1, config.dim),
            flag=_unit_rows(random, 1, config.dim)[0],
        )
        if config.plainness:
            high = np.float32(config.plainness) * _unit_rows(random, 1, config.dim)
            books.victim[config.symbols // 2 :] += high
        return books


def _unit_rows(random: np.random.Generator, rows: int, dim: int) -> Float32[np.ndarray, "rows dim"]:
    vectors = random.standard_normal((rows, dim)).astype(np.float32)
    unit: Float32[np.ndarray, "rows dim"] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _make_clip(
    clip_id: str, config: TwinConfig, books: _Codebooks, random: np.random.Generator
) -> tuple[Clip, Alignment]:
    length = int(random.integers(config.shortest, config.longest + 1))
    symbols = random.permutation(config.symbols)[:length]
    truth = _turn_blocks(length, config.window + 1, random)
    is_flagged = bool(random.integers(2))
    victim_symbols = np.empty_like(symbols)
    victim_symbols[truth] = symbols
    visible = books.visible[symbols] + books.lags[truth - np.arange(length) + config.window]
    if is_flagged:
        visible[int(random.integers(length))] += books.flag
    victim = books.victim[victim_symbols]
    sequences = {
        name: (steps + config.noise * random.standard_normal(steps.shape)).astype(np.float32)
        for name, steps in (("visible", visible), ("victim", victim))
    }
    is_high = bool(victim_symbols[0] >= config.symbols // 2)
    return Clip(clip_id, 2 * is_high + is_flagged, sequences), truth


def _turn_blocks(length: int, block: int, random: np.random.Generator) -> Alignment:
    """Where each step goes when every block is turned around by a random number of places.

    A turn stays inside its block, so no lag is longer than block - 1.
    """
    truth = np.empty(length, dtype=np.int64)
    for start in range(0, length, block):
        size = min(block, length - start)
        turn = int(random.integers(size))
        truth[start : start + size] = start + (np.arange(size) + turn) % size
    return truth
