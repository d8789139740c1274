"""SMIL: a mixture of centres with weights from a Gaussian (Ma et al., AAAI 2021), on sequences.

The target's hidden steps on complete training clips are clustered; a missing step is a convex
combination of the centres, with weights drawn from a Gaussian that the source step at the same
moment sets. A second Gaussian regularises the source features. Both are trained by the second
order meta-learning step in `mmalign.training.meta`.

Differs from the released code: clusters and weights are of steps, not of clips, as MM-Align's
authors use it; weights are drawn, as in the paper (the code takes softplus of a linear map);
centres are learned again at each epoch, from where they were, because the encoder that makes the
steps is trained along; the reconstruction network is fitted to the true steps of complete clips
as well; features are multiplied, as in the paper (one of the released paths adds).
"""

import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, is_valid, same_moment, step_error
from mmalign.model.loading import drawn

NOISE_ROWS = 97
CLUSTERING_ROUNDS = 10
UNIT = math.log(math.e - 1)  # softplus(UNIT) = 1


class Gaussian(nn.Module):
    """A diagonal Gaussian whose mean and scale are read off a vector.

    Args:
        dim: Width of what it reads.
        draws: Width of what it draws.
        mean: Where the mean starts, whatever is read.
        scale: Where the standard deviation starts.
    """

    def __init__(self, dim: int, draws: int, *, mean: float, scale: float) -> None:
        super().__init__()
        self.read = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU())
        self.mean = nn.Linear(2 * dim, draws)
        self.scale = nn.Linear(2 * dim, draws)
        starts = (self.mean, mean), (self.scale, math.log(math.expm1(scale)))
        with torch.no_grad():
            for layer, start in starts:
                layer.weight.mul_(0.1)
                layer.bias.fill_(start)

    def forward(
        self, given: Float[Tensor, "*batch dim"], noise: Float[Tensor, "*batch draws"]
    ) -> Float[Tensor, "*batch draws"]:
        """A draw as mean + scale * noise, so that gradients reach both."""
        read = self.read(given)
        drawn: Tensor = self.mean(read) + functional.softplus(self.scale(read)) * noise
        return drawn


class SMIL(Imputer):
    """Imputes convex combinations of the centres of the target's hidden steps.

    Until `prepare` has seen steps, centres are zeros. In training, weights are drawn afresh; in
    evaluation `impute` takes their mean, and `draws` a table of noise that is part of the state.

    Args:
        dim: Width of the hidden vectors.
        clusters: Number of centres.
        passes: Imputations whose predictions are averaged.
    """

    centres: Tensor
    noise: Tensor

    def __init__(self, dim: int, *, clusters: int = 10, passes: int = 10) -> None:
        super().__init__()
        self.weigh = Gaussian(dim, clusters, mean=UNIT, scale=0.1)
        self.multiply = Gaussian(dim, dim, mean=UNIT, scale=0.1)
        self.register_buffer("centres", torch.zeros(clusters, dim))
        self.register_buffer("noise", drawn(passes, NOISE_ROWS, clusters))

    def prepare(self, target_steps: Callable[[], Float[Tensor, "steps dim"]]) -> None:
        """Cluster the steps, from the centres of the epoch before: each keeps its meaning."""
        steps = target_steps().cpu().double().numpy()
        before = self.centres.cpu().double().numpy()
        self.centres.copy_(torch.from_numpy(cluster(steps, before)))

    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""]:
        """Mean squared distance between imputed and true hidden steps."""
        return step_error(self.impute(source, target.lengths), target)

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The mixture for every target step; gradients reach imputer and source sequence."""
        shape = len(target_lengths), int(target_lengths.max()), len(self.centres)
        make_noise = torch.randn if self.training else torch.zeros
        noise = make_noise(shape, dtype=source.steps.dtype, device=source.steps.device)
        return self._mixture(source, target_lengths, noise)

    def draws(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Iterator[Float[Tensor, "batch target_time dim"]]:
        """One mixture for every pass; step j has the same noise in each clip."""
        time = int(target_lengths.max())
        rows = torch.arange(time, device=target_lengths.device) % NOISE_ROWS
        for table in self.noise.to(source.steps.dtype):
            noise = table[rows].expand(len(target_lengths), -1, -1)
            yield self._mixture(source, target_lengths, noise)

    def _mixture(
        self,
        source: Hidden,
        target_lengths: Int[Tensor, " batch"],
        noise: Float[Tensor, "batch target_time clusters"],
    ) -> Float[Tensor, "batch target_time dim"]:
        time = noise.shape[1]
        moment = same_moment(target_lengths, source.lengths, time)
        rows = torch.arange(len(moment), device=moment.device)[:, None]
        shares = functional.softplus(self.weigh(source.steps[rows, moment], noise))
        shares = shares / shares.sum(dim=-1, keepdim=True)
        imputed = shares @ self.centres.to(shares.dtype)
        return imputed * is_valid(target_lengths, time)[..., None]

    def regularised(self, source: Hidden) -> Hidden:
        """The source sequence times softplus of a Gaussian that it sets itself, drawn afresh."""
        return Hidden(self._multiplied(source.head), self._multiplied(source.steps), source.lengths)

    def _multiplied(self, features: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        factors = functional.softplus(self.multiply(features, torch.randn_like(features)))
        return features * factors

    def task_parameters(self) -> list[nn.Parameter]:
        """All of them."""
        return list(self.parameters())


def cluster(
    steps: Float[np.ndarray, "steps dim"], before: Float[np.ndarray, "clusters dim"]
) -> Float[np.ndarray, "clusters dim"]:
    """The centres of k-means, which starts at `before`, or afresh if that is all zeros.

    A cluster that loses all its steps stays where it was. With fewer steps than clusters, every
    step is a centre, some of them twice.
    """
    from scipy.cluster.vq import kmeans2

    count = len(before)
    if len(steps) <= count:
        return np.resize(steps, before.shape)
    start = before if before.any() else kmeans_start(steps, count)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One of the clusters is empty")
        centres: Float[np.ndarray, "clusters dim"]
        centres, _ = kmeans2(steps, start, iter=CLUSTERING_ROUNDS, minit="matrix")
    return centres


def kmeans_start(
    steps: Float[np.ndarray, "steps dim"], count: int
) -> Float[np.ndarray, "clusters dim"]:
    """Steps far from each other: k-means++, always with the same chances."""
    random = np.random.default_rng(0)
    chosen = [int(random.integers(len(steps)))]
    distances = np.square(steps - steps[chosen[0]]).sum(axis=1)
    for _ in range(count - 1):
        total = distances.sum()
        shares = distances / total if total > 0 else None
        chosen.append(int(random.choice(len(steps), p=shares)))
        distances = np.minimum(distances, np.square(steps - steps[chosen[-1]]).sum(axis=1))
    return steps[chosen]
