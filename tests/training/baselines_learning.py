"""Train the baselines on a twin that suits them, and zero-fill; print a line of JSON a seed.

Run: python -m tests.training.baselines_learning [SEEDS] [METHOD ...]

On this twin nothing moves in time and clips are short, so that what stands in for a victim step
can be read off the visible step at the same moment (SMIL), and a clip fits into one vector (MFM).
The victim shows plainly what the label asks for, the visible side does not; most clips are
complete, and complete clips are not trained through the missing path: a method that knows how the
victim looks makes use of what they taught, and one that puts zeros must learn it from the rest.

Twin and settings were searched for, by accuracy on the first seeds: they show that a baseline can
learn, not that it wins in general. With the contrastive loss on, as is the default, zero-fill is
15 points better on seeds 0 to 2, and Modal-Trans is behind it on one of them.
With several seeds, the paired differences to zero-fill follow.
"""

import json
import sys

import torch

from mmalign.data import TwinConfig, synthetic_twin
from mmalign.evaluation.significance import paired_difference
from mmalign.training.methods import configure
from tests.training.small import train_both_settings

TWIN = TwinConfig(
    clips=(400, 80, 300),
    shortest=3,
    longest=5,
    window=0,
    symbols=32,
    dim=24,
    noise=0.05,
    plainness=3.0,
)
SURVIVAL = 0.8
SETTINGS = {
    "kernel": 1,
    "window": 1,
    "learning_rate": 3e-3,
    "fit_learning_rate": 1e-2,
    "epochs": 15,
    "warm_up": 3,
    "patience": 12,
    "batch_size": 20,
    "contrastive_weight": 0.0,
    "both_passes": False,
    "gate": False,
}
BASELINES = ("mfm", "smil", "modal-trans-parallel", "dynamic-window")


def accuracy(dataset, method: str, seed: int) -> float:
    """On test clips without their victim (setting A)."""
    config = configure({**SETTINGS, "method": method, "seed": seed})
    done = train_both_settings(
        dataset, config, visible="visible", victim="victim", survival=SURVIVAL
    )
    return done.test("A")["accuracy"]


def main() -> None:
    torch.set_num_threads(1)
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    methods = ("zero-fill", *(sys.argv[2:] or BASELINES))
    dataset = synthetic_twin(TWIN).dataset
    scores: dict[str, list[float]] = {method: [] for method in methods}
    for seed in range(seeds):
        for method in methods:
            scores[method].append(accuracy(dataset, method, seed))
        print(json.dumps({method: scores[method][seed] for method in methods}), flush=True)
    for method in methods[1:] if seeds > 1 else ():
        found = paired_difference(scores[method], scores["zero-fill"])
        print(json.dumps({"method": method, **vars(found)}), flush=True)


if __name__ == "__main__":
    main()
