"""Train on the synthetic twin and print what was learned, a line of JSON a seed.

Run: python -m tests.training.learning [SEEDS]

Run by test_learning.py in a process of its own: shape checks on every call would make training
ten times slower, and are not what is tested here.
"""

import json
import sys

import torch

from mmalign.data import Protocol, TwinConfig, synthetic_twin
from mmalign.data.batching import Batches
from mmalign.imputers import UniformWindow
from mmalign.model.streams import to_streams
from mmalign.predictor.predictor import Predictor
from mmalign.training.config import IMPROVED, Config
from tests.training.small import Trained, train_both_settings

TWIN = synthetic_twin(TwinConfig(clips=(600, 150, 300), longest=16, symbols=20, dim=16))
WINDOW = 4
SETTINGS = {
    "kernel": 1,
    "window": WINDOW,
    "learning_rate": 3e-3,
    "fit_learning_rate": 3e-3,
    "epochs": 25,
}


def trained(**changes) -> Trained:
    config = Config(**(SETTINGS | changes))
    return train_both_settings(
        TWIN.dataset, config, visible="visible", victim="victim", survival=0.5
    )


@torch.no_grad()
def lag_hits(predictor: Predictor) -> dict[str, float]:
    """Share of steps at which solver and fitter put most mass on the true lag."""
    model = predictor.model
    found: dict[str, list[torch.Tensor]] = {"solver": [], "fitter": []}
    for batch in Batches(TWIN.dataset["test"], TWIN.dataset.dims, batch_size=64).in_order():
        streams = to_streams(batch, ("visible", "victim"))
        visible = model.encode("visible", streams)
        plans = {
            "solver": model.bank.only.plan(visible, model.encode("victim", streams)).mass,
            "fitter": model.bank.only.predicted_plan(visible, streams.lengths["victim"]),
        }
        for row, clip_id in enumerate(batch.ids):
            truth = torch.from_numpy(TWIN.alignment[clip_id])
            entry = truth - torch.arange(len(truth)) + WINDOW
            for name, plan in plans.items():
                found[name].append(plan[row, : len(truth)].argmax(-1) == entry)
    return {name: torch.cat(rows).float().mean().item() for name, rows in found.items()}


def with_uniform_plan(predictor: Predictor) -> float:
    """Test accuracy in setting A when a uniform plan replaces the predicted one."""
    protocol = Protocol(visible="visible", victim="victim", survival=0.5, setting="A")
    predictor.model.bank.ways[0].imputer = UniformWindow(WINDOW)
    return predictor.evaluate(protocol.apply(TWIN.dataset)["test"])["accuracy"]


def accuracy(done: Trained) -> dict[str, float]:
    """On the test split, by setting."""
    return {setting: done.test(setting)["accuracy"] for setting in done.settings}


def learned(seed: int) -> dict:
    """What MM-Align with its switches on learns from one seed, and zero-fill without and with."""
    improved = trained(seed=seed, **IMPROVED)
    blind = trained(seed=seed, method="zero-fill")
    blind_improved = trained(seed=seed, method="zero-fill", **IMPROVED)
    return {
        "seed": seed,
        "improved": accuracy(improved),
        "zero-fill": accuracy(blind),
        "zero-fill, improved": accuracy(blind_improved),
        **lag_hits(improved.predictor),
        "uniform plan": with_uniform_plan(improved.predictor),
        "epochs": {s: found["best_epoch"] for s, found in improved.settings.items()},
        "valid": {
            s: [record["valid"][s]["weighted_f1"] for record in improved.history] for s in "AB"
        },
    }


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        print(json.dumps(learned(seed)), flush=True)


if __name__ == "__main__":
    main()
