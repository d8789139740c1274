"""The losses of denoising training, but for the imputer's own."""

import itertools
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mmalign import align
from mmalign.errors import MMAlignError
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model, main_loss

STEP_NEGATIVES = 256
REMEDY = "Lower the learning rate, or look for extreme feature values."


class TrainingError(MMAlignError):
    """Training cannot go on; epochs that were finished are not lost."""


def labels_of(batch: Streams) -> Float[Tensor, " batch"] | Int[Tensor, " batch"]:
    """The labels of training clips.

    Raises:
        TrainingError: If they have none.
    """
    if batch.labels is None:
        raise TrainingError("training clips have no labels. Give the data a column 'label'.")
    return batch.labels


def imputed_loss(
    model: Model, missing: Streams, _complete: Iterator[Streams] | None = None
) -> Float[Tensor, ""]:
    """The main loss with what is missing imputed (paper: Algorithm 1, line 16)."""
    outputs = model.backbone.predict(model.completed(model.known(missing)))
    return main_loss(model, outputs, labels_of(missing))


def drawn_subset(model: Model) -> tuple[str, ...]:
    """Modalities to drop from complete clips: some that can be imputed, never all there are.

    Every such subset is equally likely; where there is one alone, as in the paper's pair, nothing
    is drawn.
    """
    targets = list(dict.fromkeys(model.bank.targets))
    most = min(len(targets), len(model.modalities) - 1)
    subsets = [c for k in range(1, most + 1) for c in itertools.combinations(targets, k)]
    if not subsets:
        return ()
    return subsets[int(torch.randint(len(subsets), ()))] if len(subsets) > 1 else subsets[0]


def contrastive_loss(visible: Hidden, victim: Hidden, *, temperature: float) -> Float[Tensor, ""]:
    """Each clip's two head embeddings find each other among the batch.

    Paper: Eq. 15 and 16; differs: design E10 (normalised, as in the cited SimCLR). A batch of one
    has nobody to tell apart: the loss is 0 and trains nothing.
    """
    scores = _cosines(visible.head, victim.head) / temperature
    return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def step_contrast(
    visible: Hidden, victim: Hidden, *, window: int, temperature: float
) -> Float[Tensor, ""]:
    """Each visible step finds some step of its own victim window among steps of other clips.

    Which step of the window it is, is left open (the sum over the window stands in the numerator),
    so that hidden steps which belong together may find each other at any lag.
    """
    batch, time, _ = visible.steps.shape
    if batch < 2:
        return visible.steps.sum() * 0.0
    unit_victim = functional.normalize(victim.steps, dim=-1)
    lengths = {"source_lengths": visible.lengths, "target_lengths": victim.lengths}
    inside = align.is_inside(visible.lengths, victim.lengths, window=window, time=time)
    cost = align.windowed_cosine_cost(visible.steps, victim.steps, window=window, **lengths)
    own = ((1 - cost) / temperature).masked_fill(~inside, -torch.inf)  # (batch, time, width)
    others, owner = _negatives(unit_victim, victim.lengths)
    scores = functional.normalize(visible.steps, dim=-1) @ others.T / temperature
    is_own = owner == torch.arange(batch, device=owner.device)[:, None]
    scores = scores.masked_fill(is_own[:, None, :], -torch.inf)  # (batch, time, negatives)
    chosen = is_valid(visible.lengths, time)
    found = own[chosen].logsumexp(dim=-1)
    everything = torch.cat((own[chosen], scores[chosen]), dim=-1).logsumexp(dim=-1)
    return (everything - found).mean()


def _negatives(
    steps: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, "negatives dim"], Int[Tensor, " negatives"]]:
    """Victim steps spread evenly over the batch, and the clip each one belongs to."""
    places = is_valid(lengths, steps.shape[1]).nonzero()
    stride = max(1, len(places) // STEP_NEGATIVES)
    rows, times = places[::stride].T
    return steps[rows, times], rows


def _cosines(
    first: Float[Tensor, "batch dim"], second: Float[Tensor, "batch dim"]
) -> Float[Tensor, "batch batch"]:
    return functional.normalize(first, dim=-1) @ functional.normalize(second, dim=-1).T
