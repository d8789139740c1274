"""Hidden steps of one expert's network, imputed from those of another modality's network.

What the studies in `strong_alignment.py` and `few_labels.py` share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mmalign.data.packed import packed
from mmalign.data.split import Split
from mmalign.experts import Experts
from mmalign.experts.augment import Augment
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.recipe import cycle
from mmalign.imputers import (
    AlignmentDynamicsLearner,
    Copy,
    DynamicWindow,
    Imputer,
    MeanFill,
    UniformWindow,
    ZeroFill,
)
from mmalign.model.hidden import Hidden, is_valid
from mmalign.training.losses import step_contrast
from torch_taps import TorchTaps, padded, pooled

WINDOW, EPSILON, TEMPERATURE = 8, 0.1, 0.1
STEPS, BATCH, RATE = 200, 32, 3e-3
"""Steps, clips a batch and highest learning rate of an imputer's fit."""

PENALTY = 0.01

MAKE: dict[str, tuple[str, Callable[[], Imputer]]] = {
    "zero-fill": ("own", ZeroFill),
    "mean-fill": ("own", lambda: MeanFill(64)),
    "copy": ("translated", Copy),
    "uniform window": ("translated", lambda: UniformWindow(WINDOW)),
    "MM-Align, steps as they are": (
        "own",
        lambda: AlignmentDynamicsLearner(64, window=WINDOW, epsilon=EPSILON),
    ),
    "MM-Align": (
        "translated",
        lambda: AlignmentDynamicsLearner(64, window=WINDOW, epsilon=EPSILON),
    ),
    "MM-Align, step contrast": (
        "contrast",
        lambda: AlignmentDynamicsLearner(64, window=WINDOW, epsilon=EPSILON),
    ),
    "dynamic window": ("own", lambda: DynamicWindow(64, WINDOW)),
}


def network_of(experts: ModalityExperts) -> TorchTaps:
    """The trained network, in torch."""
    return TorchTaps.like(experts.taps.networks[0]).eval().requires_grad_(requires_grad=False)


def inputs_of(experts: ModalityExperts, split: Split, name: str) -> tuple[Tensor, Tensor]:
    clips = experts.taps.inputs([steps for steps in split.sequences[name] if steps is not None])
    return padded([torch.from_numpy(np.ascontiguousarray(steps)) for steps in clips])


def encoded(network: TorchTaps, features: Tensor, lengths: Tensor) -> Hidden:
    steps, lengths = network.encode(features, lengths)
    return Hidden(steps.new_zeros(len(steps), steps.shape[2]), steps, lengths)


def read(network: TorchTaps, steps: Tensor, lengths: Tensor) -> Tensor:
    """What the network's own head says of hidden steps, which are never negative."""
    return network.read(pooled(steps.relu().contiguous(), lengths))


def translator(source: Hidden, target: Hidden) -> Callable[[Hidden], Hidden]:
    """A linear map from source steps to the target's at the same moment."""
    inside = is_valid(source.lengths, source.steps.shape[1])
    given, wanted = source.steps[inside].double(), target.steps[inside].double()
    means = given.mean(dim=0), wanted.mean(dim=0)
    gram = (given - means[0]).T @ (given - means[0])
    ridge = PENALTY * gram.trace() / len(gram) * torch.eye(len(gram), dtype=gram.dtype)
    weights = torch.linalg.solve(gram + ridge, (given - means[0]).T @ (wanted - means[1]))

    def translate(hidden: Hidden) -> Hidden:
        steps = ((hidden.steps.double() - means[0]) @ weights + means[1]).float().relu()
        inside = is_valid(hidden.lengths, steps.shape[1])
        return replace(hidden, steps=steps * inside[..., None])

    return translate


def rows_of(hidden: Hidden, rows: Tensor) -> Hidden:
    return Hidden(hidden.head[rows], hidden.steps[rows], hidden.lengths[rows])


def fit_imputer(
    imputer: Imputer,
    victim: TorchTaps,
    source: Hidden,
    target: Hidden,
    every: Hidden,
    labels: Tensor,
) -> None:
    """Fit on complete clips; what the task trains too learns from every labelled clip."""
    inside = is_valid(target.lengths, target.steps.shape[1])
    imputer.prepare(lambda: target.steps[inside])
    if not list(imputer.parameters()):
        return
    task_learns = bool(imputer.task_parameters())
    optimizer = torch.optim.AdamW(imputer.parameters(), lr=RATE, weight_decay=1e-4)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * cycle(step / STEPS, 0.1)
        rows = torch.randperm(len(source.steps))[:BATCH]
        loss = imputer.fit_loss(rows_of(source, rows), rows_of(target, rows))
        if task_learns:
            rows = torch.randperm(len(labels))[:BATCH]
            seen = rows_of(every, rows)
            said = read(victim, imputer.impute(seen, seen.lengths), seen.lengths)
            loss = loss + functional.cross_entropy(said, labels[rows], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def changed(features: Tensor, lengths: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Padded clips, changed a little."""
    clips = packed([f[:n].numpy() for f, n in zip(features, lengths.tolist(), strict=True)])
    rows = torch.from_numpy(Augment()(clips, np.random.default_rng(seed)).rows)
    return padded(list(torch.split(rows, lengths.tolist())))


def pulled_together(
    victim: TorchTaps, visible: TorchTaps,
    given: tuple[Tensor, Tensor], seen: tuple[Tensor, Tensor], labels: Tensor,
) -> TorchTaps:  # fmt: skip
    """A new network of the victim whose steps find the visible's steps of the same clip."""
    channels, outputs = given[0].shape[2], victim.read.out_features
    form = {"step_gain": victim.step_gain, "stride": victim.stride, "blocks": len(victim.blocks)}
    network = TorchTaps(channels, outputs, **form).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.02)
    epochs = 40
    total = epochs * -(-len(labels) // BATCH)
    batches = (r for _ in range(epochs) for r in torch.split(torch.randperm(len(labels)), BATCH))
    for done, rows in enumerate(batches):
        optimizer.param_groups[0]["lr"] = 3e-3 * cycle(done / total, 0.1)
        chance = int(torch.randint(2**31, ()))
        moved = []  # The same pace and start in both: these are drawn first.
        for features, lengths in (given, seen):
            moved.append(changed(features[rows], lengths[rows], chance))
        hidden, beside = encoded(network, *moved[0]), encoded(visible, *moved[1])
        said = network.read(functional.dropout(pooled(hidden.steps, hidden.lengths), 0.3))
        loss = functional.cross_entropy(said, labels[rows], label_smoothing=0.1)
        loss = loss + step_contrast(beside, hidden, window=WINDOW, temperature=TEMPERATURE)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return network.eval().requires_grad_(requires_grad=False)


@dataclass(frozen=True)
class Imputed:
    """What an imputer makes of clips.

    Attributes:
        name: The imputer.
        said: Log-probabilities from the victim's network, by split.
        explained: Share of the variance of the true hidden steps of test clips.
    """

    name: str
    said: dict[str, np.ndarray]
    explained: float


def imputed(
    model: Experts,
    victim: str,
    clips: Mapping[str, Split],
    *,
    seed: int,
    names: Sequence[str] = tuple(MAKE),
) -> Iterator[Imputed]:
    """What imputers make the victim's network say of clips that lack it.

    Args:
        model: Experts of two modalities.
        victim: The one that is imputed.
        clips: `complete` ones to fit imputers to, `labelled` ones that have the other modality,
            and `valid` and `test` to be asked about.
        seed: What is drawn is drawn from this.
        names: Which imputers.
    """
    visible = next(name for name in model.experts if name != victim)
    nets = {name: network_of(one) for name, one in model.experts.items()}

    def inputs(part: str, name: str) -> tuple[Tensor, Tensor]:
        return inputs_of(model.experts[name], clips[part], name)

    seen = {part: encoded(nets[visible], *inputs(part, visible)) for part in clips}
    source = seen["complete"]
    labels = {p: torch.from_numpy(np.asarray(clips[p].labels)) for p in ("complete", "labelled")}
    for name in names:
        kind, make = MAKE[name]
        torch.manual_seed(seed)
        net, change = nets[victim], lambda hidden: hidden
        pair = inputs("complete", victim), inputs("complete", visible)
        if kind == "contrast":
            net = pulled_together(net, nets[visible], *pair, labels["complete"])
        target = encoded(net, *pair[0])
        if kind == "translated":
            change = translator(source, target)
        imputer, every = make(), change(seen["labelled"])
        fit_imputer(imputer, net, change(source), target, every, labels["labelled"])
        with torch.no_grad():
            found = {p: imputer.impute(change(h), h.lengths) for p, h in seen.items()}
            said = {p: read(net, steps, seen[p].lengths) for p, steps in found.items()}
            truth = encoded(net, *inputs("test", victim)).steps
            error = (found["test"].relu() - truth).square().mean() / truth.var(dim=(0, 1)).mean()
        shares = {p: scores.log_softmax(1).double().numpy() for p, scores in said.items()}
        yield Imputed(name, shares, 1 - float(error))
