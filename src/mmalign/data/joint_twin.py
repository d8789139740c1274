"""A twin whose label lies in its modalities jointly: none alone knows anything of it.

Every modality of a clip shows a bit of its own, in all its steps and under noise. The label is
whether neighbours differ: first and second, second and third, and so on. With N modalities there
are 2^(N-1) classes, and whoever sees k of them can be right in 2^(k-1) of 2^(N-1) cases: chance
from one, always from all, whichever they are. All bits are drawn equally often.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.task import Classification
from mmalign.data.validation import validate
from mmalign.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class JointTwinConfig:
    """Size and difficulty of the joint twin.

    Attributes:
        modalities: How many there are, at least 2.
        clips: Clips of train, valid and test.
        shortest: Fewest steps of a sequence.
        longest: Most steps of a sequence; modalities of a clip differ in length.
        dim: Features per step of each modality.
        noise: Standard deviation of the noise on every feature; what shows the bit has norm 1.
        seed: Another seed, other clips.
    """

    modalities: int = 3
    clips: tuple[int, int, int] = (800, 200, 3000)
    shortest: int = 6
    longest: int = 9
    dim: int = 6
    noise: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if self.modalities < 2:
            problems.append(f"modalities must be >= 2, got {self.modalities}")
        if min(self.clips) < 1:
            problems.append(f"every split needs a clip, got {self.clips}")
        if not 1 <= self.shortest <= self.longest:
            problems.append(f"lengths {self.shortest}..{self.longest} are not a range")
        if problems:
            raise ConfigError(problems)


def joint_twin(config: JointTwinConfig | None = None) -> Dataset:
    """Make the joint twin; the same config gives the same bytes.

    >>> twin = joint_twin(JointTwinConfig(clips=(2, 1, 1)))
    >>> twin.modalities, len(twin.task.classes)
    (('m1', 'm2', 'm3'), 4)
    """
    config = config or JointTwinConfig()
    random = np.random.default_rng(config.seed)
    names = [f"m{number + 1}" for number in range(config.modalities)]
    shown = random.standard_normal((config.modalities, config.dim))
    shown /= np.linalg.norm(shown, axis=1, keepdims=True)
    classes = tuple(f"{c:0{config.modalities - 1}b}" for c in range(2 ** (config.modalities - 1)))
    splits = {}
    for name, count in zip(SPLITS, config.clips, strict=True):
        bits = _balanced_bits(count, config.modalities, random)
        splits[name] = Split(
            ids=tuple(f"{name}-{number:05d}" for number in range(count)),
            labels=_labels(bits),
            sequences={
                modality: [_sequence(bit, vector, config, random) for bit in bits[:, place]]
                for place, (modality, vector) in enumerate(zip(names, shown, strict=True))
            },
        )
    dims = dict.fromkeys(names, config.dim)
    return validate(Dataset(Classification(classes), dims, splits))


def _balanced_bits(
    clips: int, modalities: int, random: np.random.Generator
) -> Int64[np.ndarray, "clips modalities"]:
    """Every combination of bits equally often, in random order."""
    numbers = random.permutation(np.arange(clips) % 2**modalities)
    bits: Int64[np.ndarray, "clips modalities"] = numbers[:, None] >> np.arange(modalities) & 1
    return bits


def _labels(bits: Int64[np.ndarray, "clips modalities"]) -> Int64[np.ndarray, " clips"]:
    """The differences of neighbours, read as a number in binary."""
    differs = bits[:, 1:] ^ bits[:, :-1]
    labels: Int64[np.ndarray, " clips"] = differs @ (2 ** np.arange(differs.shape[1])[::-1])
    return labels


def _sequence(
    bit: np.int64,
    vector: Float64[np.ndarray, " dim"],
    config: JointTwinConfig,
    random: np.random.Generator,
) -> Float32[np.ndarray, "_ dim"]:
    length = int(random.integers(config.shortest, config.longest + 1))
    noise = config.noise * random.standard_normal((length, config.dim))
    return ((2 * bit - 1) * vector + noise).astype(np.float32)
