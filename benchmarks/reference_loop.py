"""The paper's training and prediction in the straightforward way: what ours is measured against.

Written from the paper's description (Eq. 1 to 16, Algorithm 1) with torch's own layers, for two
modalities of equal lengths: the batch is encoded at once, plans, fit loss and imputation go clip by
clip on dense matrices, and Sinkhorn's iteration runs until it has converged. The decisions of
docs/paper.md hold, so that with the same weights it gives the same numbers as the package does.
"""

import itertools
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from mmalign.data.clip import Clip
from mmalign.model.attention import TransformerLayer
from mmalign.model.encoder import Encoder
from mmalign.model.positions import position_table
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model
from mmalign.training.config import Config

TOLERANCE = 1e-6
MOST_ITERATIONS = 10_000


class Layer(nn.Module):
    """One layer of self- or cross-attention (Eq. 1 to 3)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(config.dim, config.heads, batch_first=True)
        self.norm = nn.LayerNorm(config.dim)
        self.widen = nn.Linear(config.dim, 4 * config.dim)
        self.narrow = nn.Linear(4 * config.dim, config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, sequence: Tensor, memory: Tensor, is_padding: Tensor) -> Tensor:
        """The sequence after it has read the memory."""
        found, _ = self.attention(
            sequence, memory, memory, key_padding_mask=is_padding, need_weights=False
        )
        attended = self.dropout(found) + sequence
        wide = self.dropout(torch.relu(self.widen(attended)))
        return self.dropout(self.narrow(wide)) + self.norm(attended)

    def copy_from(self, ours: TransformerLayer) -> None:
        """Take over the weights of our layer."""
        theirs, attention = self.attention, ours.attention
        theirs.in_proj_weight.copy_(torch.cat((attention.query.weight, attention.key_value.weight)))
        theirs.in_proj_bias.copy_(torch.cat((attention.query.bias, attention.key_value.bias)))
        theirs.out_proj.load_state_dict(attention.out.state_dict())
        for name in ("norm", "widen", "narrow"):
            getattr(self, name).load_state_dict(getattr(ours, name).state_dict())


class ModalityEncoder(nn.Module):
    """Convolution, [CLS], positions and self-attention."""

    def __init__(self, features: int, config: Config) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.project = nn.Conv1d(features, config.dim, config.kernel, padding="same")
        self.cls = nn.Parameter(torch.zeros(config.dim))
        self.dropout = nn.Dropout(config.dropout)
        self.layer = Layer(config)

    def forward(self, features: Tensor, is_padding: Tensor) -> Tensor:
        """[CLS] and hidden steps."""
        scaled = (features - self.mean) / self.scale
        scaled = scaled.masked_fill(is_padding[:, 1:, None], 0.0)
        steps = self.project(scaled.transpose(1, 2)).transpose(1, 2)
        sequence = with_positions(torch.cat((self.cls.expand(len(steps), 1, -1), steps), dim=1))
        sequence = self.dropout(sequence)
        return self.layer(sequence, sequence, is_padding)

    def copy_from(self, ours: Encoder, mean: Tensor, scale: Tensor) -> None:
        """Take over the weights of our encoder and the scales of its modality."""
        self.mean.copy_(mean)
        self.scale.copy_(scale)
        self.project.load_state_dict(ours.project.state_dict())
        self.cls.copy_(ours.cls)
        self.layer.copy_from(ours.layers[0])


class ReferenceModel(nn.Module):
    """Backbone, solver and fitter for a visible modality and its victim."""

    def __init__(self, features: Sequence[int], config: Config) -> None:
        super().__init__()
        self.config = config
        self.encoders = nn.ModuleList(ModalityEncoder(count, config) for count in features)
        self.fusions = nn.ModuleList(Layer(config) for _ in features)
        self.head = nn.Sequential(
            nn.Linear(2 * config.dim, config.dim), nn.Tanh(), nn.Linear(config.dim, 1)
        )
        self.gru = nn.GRU(config.dim, config.dim, batch_first=True, bidirectional=True)
        self.to_band = nn.Linear(2 * config.dim, 2 * config.window + 1)
        self.register_buffer("label_mean", torch.zeros(()))
        self.register_buffer("label_scale", torch.ones(()))

    def backbone_parameters(self) -> list[nn.Parameter]:
        """Theta of Algorithm 1."""
        parts = (self.encoders, self.fusions, self.head)
        return [parameter for part in parts for parameter in part.parameters()]

    def fitter_parameters(self) -> list[nn.Parameter]:
        """Psi of Algorithm 1."""
        return [*self.gru.parameters(), *self.to_band.parameters()]

    def fuse(self, visible: Tensor, victim: Tensor, is_padding: Tensor) -> Tensor:
        """The scaled prediction from two hidden sequences (Eq. 4)."""
        first, second = with_positions(visible), with_positions(victim)
        z12 = self.fusions[0](first, second, is_padding)
        z21 = self.fusions[1](second, first, is_padding)
        return self.head(torch.cat((z12[:, 0], z21[:, 0]), dim=-1))[:, 0]

    def predicted_plans(self, steps: Tensor, lengths: Tensor) -> list[Tensor]:
        """What the fitter says the plan of each clip is (T-hat), as a dense matrix."""
        packed = pack_padded_sequence(steps, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        scores = self.to_band(states)
        return [self._dense(row[:length]) for row, length in zip(scores, lengths, strict=True)]

    def _dense(self, scores: Tensor) -> Tensor:
        window = self.config.window
        rows = torch.arange(len(scores))[:, None].expand_as(scores)
        columns = rows + torch.arange(-window, window + 1)
        inside = (columns >= 0) & (columns < len(scores))
        dense = scores.new_full((len(scores), len(scores)), -torch.inf)
        dense[rows[inside], columns[inside]] = scores[inside]
        return dense.softmax(dim=-1)

    def impute(self, visible: Tensor, lengths: Tensor) -> Tensor:
        """The victim's sequence from predicted plans and the visible one (Eq. imp and imp_sq)."""
        with torch.no_grad():
            plans = self.predicted_plans(visible[:, 1:], lengths)
        steps = [
            plan.T @ row[1 : length + 1] / plan.sum(dim=0)[:, None]
            for plan, row, length in zip(plans, visible, lengths, strict=True)
        ]
        cls = self.encoders[1].cls.expand(len(visible), 1, -1)
        return torch.cat((cls, pad_sequence(steps, batch_first=True)), dim=1)

    @torch.no_grad()
    def predict(self, clips: Sequence[Clip], visible: str) -> Tensor:
        """Predictions for clips without their victim, as one padded batch."""
        self.eval()
        features = [torch.from_numpy(clip.sequences[visible]) for clip in clips]
        lengths = torch.tensor([len(steps) for steps in features])
        padded = pad_sequence(features, batch_first=True)
        is_padding = padding_of(lengths)
        hidden = self.encoders[0](padded, is_padding)
        outputs = self.fuse(hidden, self.impute(hidden, lengths), is_padding)
        return outputs * self.label_scale + self.label_mean

    @torch.no_grad()
    def copy_from(self, model: Model) -> None:
        """Take over the weights of our model of a pair."""
        backbone, fitter = model.backbone, model.bank.only.fitter
        parts = zip(self.encoders, backbone.encoders, model.scalers, strict=True)
        for theirs, ours, scaler in parts:
            theirs.copy_from(ours, scaler.mean, scaler.scale)
        for layer, reader in zip(self.fusions, backbone.fuse.readers, strict=True):
            layer.copy_from(reader.layers[0])
        self.head.load_state_dict(backbone.head.state_dict())
        ways = ("", fitter.forward_gru), ("_reverse", fitter.backward_gru)
        for (ending, gru), name in itertools.product(ways, fitter.forward_gru.state_dict()):
            getattr(self.gru, name + ending).copy_(getattr(gru, name))
        self.to_band.load_state_dict(fitter.project.state_dict())
        self.label_mean.copy_(model.label_mean)
        self.label_scale.copy_(model.label_scale)


class ReferenceLoop:
    """Algorithm 1, lines 7 to 18.

    Args:
        model: What is trained.
        pair: Names of the visible modality and its victim.
        iterations: So many of Sinkhorn's instead of all until convergence.
    """

    def __init__(
        self, model: ReferenceModel, pair: tuple[str, str], *, iterations: int | None = None
    ) -> None:
        self.model, self.pair, self.iterations = model, pair, iterations
        config = model.config
        self.main = torch.optim.AdamW(
            model.backbone_parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.fit = torch.optim.AdamW(
            model.fitter_parameters(), lr=config.fit_learning_rate, weight_decay=config.weight_decay
        )
        self.losses: dict[str, list[float]] = {"fit": [], "complete": [], "missing": []}

    def epoch(self, complete: Iterable[Streams], missing: Iterable[Streams]) -> None:
        """The complete split, then the missing split."""
        self.model.train()
        for batch in complete:
            self.update(self.fit, self.fit_loss(batch), "fit")
            self.update(self.main, self.complete_loss(batch), "complete")
        for batch in missing:
            self.update(self.main, self.missing_loss(batch), "missing")

    def update(self, optimizer: torch.optim.Optimizer, loss: Tensor, name: str) -> None:
        """One step; gradients are clipped."""
        self.losses[name].append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        parameters = optimizer.param_groups[0]["params"]
        nn.utils.clip_grad_norm_(parameters, self.model.config.clip_norm)
        optimizer.step()

    def encode(self, batch: Streams) -> tuple[Tensor, Tensor]:
        """Both hidden sequences."""
        is_padding = padding_of(batch.lengths[self.pair[0]])
        first, second = (
            encoder(batch.features[name], is_padding)
            for encoder, name in zip(self.model.encoders, self.pair, strict=True)
        )
        return first, second

    def fit_loss(self, batch: Streams) -> Tensor:
        """Mean squared error between predicted and solved plans (Eq. fit_loss)."""
        lengths, config = batch.lengths[self.pair[0]], self.model.config
        with torch.no_grad():
            visible, victim = self.encode(batch)
        total, count = torch.zeros(()), 0
        predicted = self.model.predicted_plans(visible[:, 1:], lengths)
        for guess, one, other, length in zip(predicted, visible, victim, lengths, strict=True):
            steps = one[1 : length + 1], other[1 : length + 1]
            plan = solve(*steps, config.window, config.epsilon, self.iterations)
            total = total + (guess - plan).square().sum()  # both are 0 outside the window
            count += int(is_near(len(plan), config.window).sum())
        return total / count

    def complete_loss(self, batch: Streams) -> Tensor:
        """The main loss and the contrastive one (Eq. 5, 15 and 16)."""
        visible, victim = self.encode(batch)
        is_padding = padding_of(batch.lengths[self.pair[0]])
        main = self.main_loss(self.model.fuse(visible, victim, is_padding), batch)
        heads = [functional.normalize(hidden[:, 0], dim=-1) for hidden in (visible, victim)]
        scores = heads[0] @ heads[1].T / self.model.config.temperature
        contrast = functional.cross_entropy(scores, torch.arange(len(scores)))
        return main + self.model.config.contrastive_weight * contrast

    def missing_loss(self, batch: Streams) -> Tensor:
        """The main loss with the victim imputed."""
        lengths = batch.lengths[self.pair[0]]
        is_padding = padding_of(lengths)
        visible = self.model.encoders[0](batch.features[self.pair[0]], is_padding)
        victim = self.model.impute(visible, lengths)
        return self.main_loss(self.model.fuse(visible, victim, is_padding), batch)

    def main_loss(self, outputs: Tensor, batch: Streams) -> Tensor:
        """Squared error of scaled labels."""
        wanted = (batch.labels - self.model.label_mean) / self.model.label_scale
        return functional.mse_loss(outputs, wanted)


@torch.no_grad()
def solve(
    source: Tensor, target: Tensor, window: int, epsilon: float, iterations: int | None
) -> Tensor:
    """The plan of one clip by Sinkhorn's iteration on a dense matrix (Eq. goal to skh_step2)."""
    first, second = (functional.normalize(steps.double(), dim=-1) for steps in (source, target))
    cost = (1 - first @ second.T).masked_fill(~is_near(len(first), window), torch.inf)
    kernel = torch.exp(-cost / epsilon)
    v = torch.ones(len(first), dtype=torch.float64)
    for _ in range(iterations or MOST_ITERATIONS):
        u = 1 / (kernel @ v)
        v = 1 / (kernel.T @ u)
        if iterations is None and (u * (kernel @ v) - 1).abs().max() < TOLERANCE:
            break
    return (u[:, None] * kernel * v).to(source.dtype)


def is_near(time: int, window: int) -> Tensor:
    """Which steps lie in each other's window."""
    steps = torch.arange(time)
    return (steps[:, None] - steps).abs() <= window


def padding_of(lengths: Tensor) -> Tensor:
    """Which positions of [CLS] and steps hold nothing."""
    return torch.arange(int(lengths.max()) + 1) > lengths[:, None]


def with_positions(sequence: Tensor) -> Tensor:
    """The sequence with sinusoidal positions added."""
    time, dim = sequence.shape[1:]
    return sequence + position_table(time, dim, sequence.dtype, sequence.device)
