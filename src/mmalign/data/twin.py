"""The synthetic twin: parallel sequences whose true alignment is known.

Time is cut into blocks. Inside a block, the victim shows the visible symbols turned around by
some steps; how far is written in the visible content itself, so a learner that sees the visible
side can know the lag, and a learner that does not must guess. One step of the visible sequence is
marked; the label is the kind of the *victim's* symbol at that time. So the label needs both: the
visible side tells when to look, the victim what is there. When the victim is missing, its symbol
can still be found on the visible side, by whoever has learned the lag.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
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
        window: No lag is longer than this.
        symbols: Different symbols; half of them mean label 1.
        dim: Features per step of either modality.
        noise: Standard deviation of the noise on every feature; a symbol has norm 1.
        seed: Another seed, other clips.
    """

    clips: tuple[int, int, int] = (1200, 300, 600)
    shortest: int = 12
    longest: int = 24
    window: int = 3
    symbols: int = 16
    dim: int = 24
    noise: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if min(self.clips) < 1:
            problems.append(f"every split needs a clip, got {self.clips}")
        if not 1 <= self.shortest <= self.longest:
            problems.append(f"lengths {self.shortest}..{self.longest} are not a range")
        if self.window < 1:
            problems.append(f"window must be >= 1, got {self.window}")
        if self.symbols < 4 or self.symbols % 2:
            problems.append(f"symbols must be even and >= 4, got {self.symbols}")
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
    task = Classification(("low", "high"))
    alignment: dict[str, Alignment] = {}
    splits = {}
    for name, count in zip(("train", "valid", "test"), config.clips, strict=True):
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
    """How symbols, turns and the mark look in the features."""

    visible: Float32[np.ndarray, "symbols dim"]
    victim: Float32[np.ndarray, "symbols dim"]
    turns: Float32[np.ndarray, "turns dim"]
    mark: Float32[np.ndarray, " dim"]

    @staticmethod
    def draw(config: TwinConfig, random: np.random.Generator) -> "_Codebooks":
        block = config.window + 1
        return _Codebooks(
            visible=_unit_rows(random, config.symbols, config.dim),
            victim=_unit_rows(random, config.symbols, config.dim),
            turns=_unit_rows(random, block, config.dim),
            mark=_unit_rows(random, 1, config.dim)[0] * 2,
        )


def _unit_rows(random: np.random.Generator, rows: int, dim: int) -> Float32[np.ndarray, "rows dim"]:
    vectors = random.standard_normal((rows, dim)).astype(np.float32)
    unit: Float32[np.ndarray, "rows dim"] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _make_clip(
    clip_id: str, config: TwinConfig, books: _Codebooks, random: np.random.Generator
) -> tuple[Clip, Alignment]:
    length = int(random.integers(config.shortest, config.longest + 1))
    symbols = random.integers(config.symbols, size=length)
    truth, turns = _turn_blocks(length, config.window + 1, random)
    marked = int(random.integers(length))
    victim_symbols = np.empty_like(symbols)
    victim_symbols[truth] = symbols
    visible = books.visible[symbols] + books.turns[turns]
    visible[marked] += books.mark
    victim = books.victim[victim_symbols]
    sequences = {
        name: (steps + config.noise * random.standard_normal(steps.shape)).astype(np.float32)
        for name, steps in (("visible", visible), ("victim", victim))
    }
    label = int(victim_symbols[marked] >= config.symbols // 2)
    return Clip(clip_id, label, sequences), truth


def _turn_blocks(
    length: int, block: int, random: np.random.Generator
) -> tuple[Alignment, Int64[np.ndarray, " time"]]:
    """Turn each block of steps around by a random number of places.

    Returns where each step goes, and the turn that its block was given. A turn stays inside its
    block, so no lag is longer than block - 1.
    """
    truth = np.empty(length, dtype=np.int64)
    turns = np.empty(length, dtype=np.int64)
    for start in range(0, length, block):
        size = min(block, length - start)
        turn = int(random.integers(size))
        truth[start : start + size] = start + (np.arange(size) + turn) % size
        turns[start : start + size] = turn
    return truth, turns
