"""What three modalities cost beside two, and one model beside a network for every subset.

Run: python benchmarks/bench_modalities.py          CPU time of an epoch, one thread
     python benchmarks/bench_modalities.py --twin   accuracy on the joint twin, six seeds
Bars: an epoch of three complete modalities takes at most 3.2x one of the pair, with 30 % of the
modalities missing at most 1.3x of that; on the twin, one model trained with random missing is at
most one point below the dedicated network of each subset.
"""

import argparse
import itertools
from collections.abc import Callable

import numpy as np
import torch

from mmalign.data import Dataset, Split
from mmalign.data.joint_twin import JointTwinConfig, joint_twin
from mmalign.experts import Experts
from mmalign.training.loop import Training
from mmalign.training.methods import configure, find_method, seen_subset
from mosi_like import mosi_like
from turns import take_turns

DIMS = {"text": 300, "visual": 47, "acoustic": 74}
ROUNDS = 6


def with_missing(dataset: Dataset, rate: float, seed: int) -> Dataset:
    """Each modality of each clip dropped at this rate; one always stays."""
    random = np.random.default_rng(seed)
    splits = {}
    for name, split in dataset.splits.items():
        is_dropped = random.random((len(split), len(dataset.dims))) < rate
        stays = random.integers(len(dataset.dims), size=len(split))
        everything = is_dropped.all(axis=1)
        is_dropped[everything, stays[everything]] = False
        for place, modality in enumerate(dataset.dims):
            lost = {i for i, d in zip(split.ids, is_dropped[:, place], strict=True) if d}
            split = split.without(modality, lost)
        splits[name] = split
    return Dataset(dataset.task, dataset.dims, splits)


def epoch_of(dataset: Dataset, settings: dict, **modes) -> Callable[[], None]:
    """An epoch of training, batching included, validation left out."""
    config = configure({**settings, "warm_up": 0})
    member = Training(dataset, config, validations={}, **modes).state.members[0]
    numbers = itertools.count(1)

    def run() -> None:
        epoch = next(numbers)
        member.model.train()
        complete, missing = (
            member.streams(batches, epoch) for batches in (member.complete, member.missing)
        )
        member.algorithm.epoch(complete, missing)

    return run


def costs(settings: dict) -> tuple[float, float]:
    """Three complete modalities beside the pair, and 30 % missing beside complete."""
    whole = mosi_like({"train": 1284, "valid": 8}, DIMS)
    pair = whole.only(["text", "visual"])
    epochs = {
        "pair": epoch_of(pair, settings, modalities=("text", "visual"), targets=("visual",)),
        "three": epoch_of(whole, settings, modalities=tuple(DIMS)),
        "missing": epoch_of(with_missing(whole, 0.3, 0), settings, modalities=tuple(DIMS)),
    }
    medians = {name: taken.median for name, taken in take_turns(epochs, ROUNDS).items()}
    return medians["three"] / medians["pair"], medians["missing"] / medians["three"]


def print_costs() -> None:
    for settings in ({}, {"both_passes": True, "step_contrast_weight": 1.0}):
        three, missing = costs(settings)
        shown = ", ".join(settings) or "as printed"
        print(
            f"mmalign, {shown}: three complete {three:.2f}x the pair (bar 3.2), "
            f"30 % missing {missing:.2f}x of that (bar 1.3)",
            flush=True,
        )


RECIPE = {"learning_rate": 2e-3, "epochs": 30, "patience": 8, "window": 4, "dim": 16}


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    counts = range(1, len(names) + 1)
    return [subset for count in counts for subset in itertools.combinations(names, count)]


def accuracies(seed: int) -> dict[tuple[str, ...], dict[str, float]]:
    """For each subset the accuracy of one network, of experts, and of a dedicated network."""
    data = joint_twin(JointTwinConfig(seed=seed))
    masked = with_missing(data, 0.3, seed)
    settings = {**RECIPE, "seed": seed}
    one = trained(masked, {**settings, "method": "mmalign", "both_passes": True}, data.modalities)
    experts = Experts(seed=seed).fit(masked["train"])
    found = {}
    for subset in subsets(data.modalities):
        hidden = [name for name in data.modalities if name not in subset]
        test = data["test"]
        for name in hidden:
            test = test.without(name, test.ids)
        dedicated = trained(masked, {**settings, "method": "lb"}, subset)
        found[subset] = {
            "one network": 100 * one.evaluate(test)["accuracy"],
            "experts": 100 * experts.score(test)["accuracy"],
            "dedicated network": 100 * dedicated.evaluate(data.only(subset)["test"])["accuracy"],
        }
    return found


def trained(dataset: Dataset, settings: dict, modalities: tuple[str, ...]):
    config = configure(settings)
    seen = seen_subset(find_method(config.method), dataset, modalities)
    training = Training(
        seen, config, modalities=modalities, validations={"valid": known(seen["valid"])}
    )
    training.run()
    return training.select("valid")


def known(split: Split) -> Split:
    """The clips that have something."""
    return split.select(np.flatnonzero(np.any([split.is_present(m) for m in split.modalities], 0)))


def print_accuracies(seeds: int) -> None:
    rows: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for seed in range(seeds):
        for subset, found in accuracies(seed).items():
            rows.setdefault(subset, []).append(found)
            told = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
            print(f"seed {seed}, {'+'.join(subset)}: {told}", flush=True)
    for subset, found in rows.items():
        means = {name: np.array([row[name] for row in found]) for name in found[0]}
        dedicated = means.pop("dedicated network")
        told = f"{'+'.join(subset):10} dedicated network {dedicated.mean():5.1f}"
        for name, values in means.items():
            apart = values - dedicated
            spread = apart.std(ddof=1) if len(apart) > 1 else 0.0
            told += f", {name} {values.mean():5.1f} ({apart.mean():+.1f}, sd {spread:.1f})"
        print(f"{told} (bar -1.0)", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--twin", action="store_true", help="accuracy instead of cost")
    parser.add_argument("--seeds", type=int, default=6)
    given = parser.parse_args()
    if given.twin:
        print_accuracies(given.seeds)
    else:
        print_costs()


if __name__ == "__main__":
    main()
