"""The network that does the main task: encode, fuse, predict."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign.model.config import BackboneConfig
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import Fusion
from mmalign.model.hidden import Hidden


class Backbone(nn.Module):
    """After MulT: one encoder a modality, cross-attention both ways, a two-layer head.

    Args:
        config: Size.
        visible_features: Feature dimension of the visible modality.
        victim_features: Feature dimension of the victim modality.
        outputs: 1 for regression, the number of classes otherwise.
    """

    def __init__(
        self, config: BackboneConfig, *, visible_features: int, victim_features: int, outputs: int
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.encode_visible = Encoder(visible_features, config)
        self.encode_victim = Encoder(victim_features, config)
        self.fuse = Fusion(config)
        self.head = nn.Sequential(
            nn.Linear(2 * config.dim, config.dim), nn.Tanh(), nn.Linear(config.dim, outputs)
        )

    def predict(self, visible: Hidden, victim: Hidden) -> Float[Tensor, "batch outputs"]:
        """The answer from two hidden sequences, true or imputed (paper: Eq. 4)."""
        answer: Tensor = self.head(self.fuse(visible, victim))
        return answer

    def imputed(
        self, steps: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> Hidden:
        """Steps that stand in for the victim, under its initial [CLS] embedding (design E12)."""
        head = self.encode_victim.cls.expand(len(steps), -1)
        return Hidden(head, steps, lengths)


def count_parameters(module: nn.Module) -> int:
    """How many numbers training can change."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
