"""What a good engineer would try on a few hundred sequences, beside MiniRocket.

Each takes clips to learn from, clips to be asked about, the modalities to read and a seed.
"""

import numpy as np
import torch

from experts import Classifier, Names, long_enough
from mmalign.data.clip import Clip

PENALTIES = np.logspace(-3, 6, 19)
"""Of a ridge with up to 50,000 features; the usual ones end at 1,000."""

FREQUENCIES = 8
TREES = {str: {"n_estimators": 500}, float: {"max_features": 0.1}}
"""Options of ExtraTrees, by kind of label; the others are those of scikit-learn."""

GROUPS, KERNELS, WIDTH, MOST_CHANNELS = 64, 8, 9, 8
"""Of Hydra, as its authors have them."""

EPOCHS, BATCH, RATE = 60, 64, 1e-3

Pair = tuple[np.ndarray, np.ndarray]
"""What is known of clips to learn from, and of clips to be asked about."""


def multirocket(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    """MultiRocket with its 50,000 features, and a ridge."""
    features = multirocket_features(panels(train, test, names), seed)
    return ridge_answers(scaled(features), train)


def centred_multirocket(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    """The same on signals less each clip's own mean: where somebody stood, how a watch was worn."""
    return multirocket(
        [centred(clip) for clip in train], [centred(clip) for clip in test], names, seed
    )


def multirocket_hydra(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    """A ridge on the features of MultiRocket and of Hydra."""
    given = panels(train, test, names)
    parts = scaled(multirocket_features(given, seed)), sparse_scaled(hydra_features(given, seed))
    return ridge_answers(joined(*parts), train)


def summary_trees(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    """ExtraTrees on the summary of each channel."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesClassifier if is_class(train) else ExtraTreesRegressor
    options = TREES[str if is_class(train) else float]
    known, asked = summaries(train, test, names)
    trees = kind(random_state=seed, **options).fit(known, [clip.label for clip in train])
    return trees.predict(asked)


def summary_ridge(train: list[Clip], test: list[Clip], names: Names, _seed: int) -> np.ndarray:
    """A ridge on the summary of each channel; nothing in it is random."""
    return ridge_answers(scaled(summaries(train, test, names)), train)


def inception_time(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    """One network of sktime's InceptionTime; classes only."""
    known, asked = (torch.from_numpy(p) for p in standardised(panels(train, test, names)))
    classes, labels = np.unique([clip.label for clip in train], return_inverse=True)
    network = trained(known.transpose(1, 2), torch.from_numpy(labels), seed)
    with torch.no_grad():
        return classes[network(asked.transpose(1, 2)).argmax(dim=1).numpy()]


RIVALS: dict[str, Classifier] = {
    "MultiRocket": multirocket,
    "centred MultiRocket": centred_multirocket,
    "MultiRocket + Hydra": multirocket_hydra,
    "summary + trees": summary_trees,
    "summary + ridge": summary_ridge,
    "InceptionTime": inception_time,
}


def is_class(clips: list[Clip]) -> bool:
    return isinstance(clips[0].label, str)


def centred(clip: Clip) -> Clip:
    parts = {name: steps - steps.mean(axis=0) for name, steps in clip.sequences.items()}
    return Clip(clip.id, clip.label, parts)


def panels(train: list[Clip], test: list[Clip], names: Names) -> Pair:
    """Clips by channels by steps, with zeros after the last step of the shorter ones."""
    given = [[long_enough(clip, names) for clip in part] for part in (train, test)]
    longest = max(10, *(panel.shape[1] for part in given for panel in part))
    known, asked = (np.stack([_padded(panel, longest) for panel in part]) for part in given)
    return known, asked


def _padded(panel: np.ndarray, steps: int) -> np.ndarray:
    return np.pad(panel, ((0, 0), (0, steps - panel.shape[1])))


def multirocket_features(given: Pair, seed: int) -> Pair:
    from sktime.transformations.rocket import MultiRocketMultivariate

    rocket = MultiRocketMultivariate(random_state=seed)
    return np.asarray(rocket.fit_transform(given[0])), np.asarray(rocket.transform(given[1]))


def hydra_features(given: Pair, seed: int) -> Pair:
    """How often and how strongly each kernel of a group is the one that fits best."""
    channels, steps = given[0].shape[1:]
    chance = torch.Generator().manual_seed(seed)
    read = int(np.clip(channels // 2, 2, MOST_CHANNELS))
    half, found = GROUPS // 2, ([], [])
    series = [[torch.from_numpy(p).float(), torch.from_numpy(p).float().diff()] for p in given]
    for exponent in range(int(np.log2((steps - 1) / (WIDTH - 1))) + 1):
        for order in range(2):  # the steps, and their differences
            kernels = torch.randn(half * KERNELS, 1, WIDTH, generator=chance)
            kernels -= kernels.mean(dim=-1, keepdim=True)
            kernels /= kernels.abs().sum(dim=-1, keepdim=True)
            chosen = torch.randint(channels, (half, read), generator=chance)
            for part, counts in zip(series, found, strict=True):
                batches = part[order].split(256)
                counts.append(
                    torch.cat([won(b[:, chosen].sum(2), kernels, 2**exponent) for b in batches])
                )
    known, asked = (torch.cat(counts, dim=1).double().numpy() for counts in found)
    return known, asked


def won(steps: torch.Tensor, kernels: torch.Tensor, dilation: int) -> torch.Tensor:
    """Of each kernel: the sum of its values where it is the largest, how often it is the least."""
    groups = steps.shape[1]
    padding = dilation * (WIDTH - 1) // 2
    fits = torch.conv1d(steps, kernels, padding=padding, dilation=dilation, groups=groups)
    fits = fits.unflatten(1, (groups, KERNELS))
    largest, first = fits.max(dim=2)
    last = fits.min(dim=2).indices
    nothing = fits.new_zeros(*fits.shape[:3])
    sums = nothing.scatter_add(2, first, largest)
    counts = nothing.scatter_add(2, last, torch.ones_like(largest))
    return torch.stack([sums, counts], dim=1).flatten(1)


def summaries(train: list[Clip], test: list[Clip], names: Names) -> Pair:
    known, asked = (np.stack([summary(clip, names) for clip in part]) for part in (train, test))
    return known, asked


def summary(clip: Clip, names: Names) -> np.ndarray:
    """What one tries first: moments, quartiles, movement and low frequencies of each channel."""
    return np.concatenate([_summary(clip.sequences[name].astype(np.float64)) for name in names])


def _summary(steps: np.ndarray) -> np.ndarray:
    mean = steps.mean(axis=0)
    moves = np.abs(np.diff(steps, axis=0)).mean(axis=0) if len(steps) > 1 else np.zeros_like(mean)
    waves = np.abs(np.fft.rfft(steps - mean, axis=0))[1 : FREQUENCIES + 1] / len(steps)
    waves = np.pad(waves, ((0, FREQUENCIES - len(waves)), (0, 0)))
    levels = np.quantile(steps, [0, 0.25, 0.5, 0.75, 1], axis=0)
    return np.concatenate([mean, steps.std(axis=0), moves, levels.ravel(), waves.ravel()])


def scaled(features: Pair) -> Pair:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=False).fit(features[0])
    return scaler.transform(features[0]), scaler.transform(features[1])


def sparse_scaled(features: Pair) -> Pair:
    """Roots of what is above zero; zeros stay, and features that are nearly all zero stay small."""
    known, asked = (np.sqrt(np.maximum(part, 0)) for part in features)
    mean, spread = known.mean(axis=0), known.std(axis=0) + (known == 0).mean(axis=0) ** 4 + 1e-8
    return (known - mean) * (known != 0) / spread, (asked - mean) * (asked != 0) / spread


def joined(first: Pair, second: Pair) -> Pair:
    return np.hstack([first[0], second[0]]), np.hstack([first[1], second[1]])


def ridge_answers(features: Pair, train: list[Clip]) -> np.ndarray:
    """Answers of a ridge, with the penalty that leaving one clip out likes best."""
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV

    kind = RidgeClassifierCV if is_class(train) else RidgeCV
    known, asked = turned(features)
    return kind(PENALTIES).fit(known, [clip.label for clip in train]).predict(asked)


def turned(features: Pair) -> Pair:
    """The same in fewer columns, one for each clip to learn from: a ridge answers as before."""
    mean = features[0].mean(axis=0)
    known, asked = (part - mean for part in features)
    values, axes = np.linalg.eigh((known @ known.T).astype(np.float64))
    counts = values > 1e-7 * values[-1]
    roots, axes = np.sqrt(values[counts]), axes[:, counts]
    return axes * roots, (asked @ known.T) @ axes / roots


def standardised(given: Pair) -> Pair:
    """Each channel in single precision, with the mean and spread of training clips."""
    mean = given[0].mean(axis=(0, 2), keepdims=True)
    spread = given[0].std(axis=(0, 2), keepdims=True) + 1e-8
    known, asked = (((part - mean) / spread).astype(np.float32) for part in given)
    return known, asked


def trained(steps: torch.Tensor, labels: torch.Tensor, seed: int) -> torch.nn.Module:
    """The reference network after one cycle of learning rates; nothing is selected.

    sktime's own loop is not used: it never shuffles, so that a batch has clips of one person.
    """
    from sktime.networks.inceptiontime import InceptionTimeNetworkTorch

    torch.manual_seed(seed)
    relu = torch.nn.ReLU()
    network = InceptionTimeNetworkTorch(
        steps.shape[2], int(labels.max()) + 1, activation_hidden=relu
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    batches = -(-len(labels) // BATCH)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * batches)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(labels)).tensor_split(batches):
            loss = torch.nn.functional.cross_entropy(network(steps[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            cycle.step()
    return network.eval()
