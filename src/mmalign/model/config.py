"""Size of the backbone."""

from collections.abc import Mapping
from dataclasses import dataclass

from mmalign.errors import ConfigError

NORMS = ("paper", "pre")
POOLS = ("cls", "cls+mean+max")


@dataclass(frozen=True, kw_only=True)
class BackboneConfig:
    """Size of the backbone.

    Attributes:
        dim: Width of all hidden vectors.
        heads: Attention heads; they divide dim.
        kernel: Steps that the projection of the features sees at once; odd.
        encoder_layers: Transformer layers of each encoder.
        fusion_layers: Transformer layers of each direction of the fusion.
        dropout: Share of activations dropped in training.
        fusion_positions: Whether positions are added at the fusion (design E16).
        norm: Where layers normalise: `paper` as printed in Eq. 1 to 3, `pre` before each sublayer.
        pool: What the head sees of each modality: `cls`, or `cls+mean+max` with mean and maximum of
            its hidden steps.
        attention_band: Steps before and after it that a step reads in its encoder, beside [CLS]:
            time then grows with length, not with its square. 0 reads the whole sequence.
        compiled_layers: Whether layers are compiled functions, which train several times as fast;
            weights then agree to rounding with those of torch's layers, and not to the bit.
    """

    dim: int = 32
    heads: int = 4
    kernel: int = 5
    encoder_layers: int = 1
    fusion_layers: int = 1
    dropout: float = 0.1
    fusion_positions: bool = True
    norm: str = "paper"
    pool: str = "cls"
    attention_band: int = 0
    compiled_layers: bool = False

    def __post_init__(self) -> None:
        problems = []
        if self.dim < 2 or self.heads < 1 or self.dim % max(self.heads, 1):
            problems.append(f"heads ({self.heads}) must divide dim ({self.dim})")
        if self.kernel < 1 or self.kernel % 2 == 0:
            problems.append(f"kernel must be odd and >= 1, got {self.kernel}")
        if min(self.encoder_layers, self.fusion_layers) < 1:
            problems.append("encoder_layers and fusion_layers must be >= 1")
        if not 0 <= self.dropout < 1:
            problems.append(f"dropout must be in [0, 1), got {self.dropout}")
        if self.attention_band < 0:
            problems.append(f"attention_band must be >= 0, got {self.attention_band}; 0 is no band")
        problems += wrong_choices(self, {"norm": NORMS, "pool": POOLS})
        if problems:
            raise ConfigError(problems)


def wrong_choices(config: BackboneConfig, choices: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What is wrong with settings that are one of a few words."""
    return [
        f"{name} must be {' or '.join(words)}, got {getattr(config, name)!r}"
        for name, words in choices.items()
        if getattr(config, name) not in words
    ]
