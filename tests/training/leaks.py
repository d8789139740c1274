"""Train every method on three modalities, with and without NaN where a pattern hides something.

Run: python -m tests.training.leaks

Run by test_loop.py in a process of its own: shape checks on every call would take most of the
time. Prints a line of JSON a method: whether weights and answers are equal, and differ from clip to
clip.
"""

import json

import torch

from mmalign.training.methods import METHODS
from tests.training.joint import poisoned_holes, trained, whole_twin, with_holes


def compared(method: str, modalities: int = 3) -> dict:
    whole = whole_twin(modalities)
    holes, poisoned = with_holes(whole), with_holes(poisoned_holes(whole))
    first, second = (trained(data, method=method) for data in (holes, poisoned))
    states = (found.model.state_dict().values() for found in (first, second))
    outputs, again = (found.outputs(holes["test"]) for found in (first, second))
    return {
        "method": method,
        "modalities": modalities,
        "directions": len(first.model.bank.directions),
        "weights are equal": all(map(torch.equal, *states)),
        "answers are equal": torch.equal(outputs, again),
        "answers differ": bool(outputs.std(dim=0).min() > 0),
    }


def main() -> None:
    for method in METHODS:
        print(json.dumps(compared(method)), flush=True)
    for modalities in (2, 5):
        print(json.dumps(compared("mmalign", modalities)), flush=True)


if __name__ == "__main__":
    main()
