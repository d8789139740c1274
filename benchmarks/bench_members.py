"""Are members faster when they are stacked into one computation?

Run: python benchmarks/bench_members.py [--members K]

Forward and backward pass of the backbone on a batch of 32 clips of two modalities with 32 steps,
sizes of UTD-MHAD, in CPU time on one thread: K networks one after the other, as they are trained,
and the same networks as one computation whose tensors have one axis more (torch.func). Steps of
optimisers and imputers are the same in both, and left out.
"""

import argparse

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional

from mmalign.model.backbone import Backbone
from mmalign.training.config import STRONG, Config
from turns import take_turns

CLIPS, STEPS, DIMS, CLASSES, ROUNDS = 32, 32, {"skeleton": 60, "inertial": 6}, 27, 15


class Answer(nn.Module):
    """A backbone that reads both modalities of clips of one length."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.backbone = Backbone(config, DIMS, CLASSES)

    def forward(self, features: dict[str, Tensor]) -> Tensor:
        """Outputs for a batch."""
        lengths = torch.full((CLIPS,), STEPS)
        encode = self.backbone.encode
        return self.backbone.predict({n: encode(n, f, lengths) for n, f in features.items()})


def compare(config: Config, members: int) -> str:
    torch.manual_seed(0)
    networks = [Answer(config).train() for _ in range(members)]
    features = {n: torch.randn(members, CLIPS, STEPS, dim) for n, dim in DIMS.items()}
    labels = torch.randint(0, CLASSES, (members, CLIPS))
    weights, buffers = stack_module_state(networks)

    def loss(own: dict, kept: dict, seen: dict[str, Tensor], wanted: Tensor) -> Tensor:
        return functional.cross_entropy(functional_call(networks[0], (own, kept), (seen,)), wanted)

    stacked = vmap(grad(loss), randomness="different")

    def in_turn() -> None:
        for number, network in enumerate(networks):
            network.zero_grad()
            seen = {name: values[number] for name, values in features.items()}
            functional.cross_entropy(network(seen), labels[number]).backward()

    times = take_turns(
        {"in turn": in_turn, "stacked": lambda: stacked(weights, buffers, features, labels)}, ROUNDS
    )
    ratio = times["in turn"].median / times["stacked"].median
    return f"in turn {times['in turn']}, stacked {times['stacked']}: {ratio:.2f}x as fast"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    layers = {name: STRONG[name] for name in ("norm", "pool")}
    for title, config in (("as printed", Config()), ("strong", Config(**layers))):
        print(f"{options.members} members, {title}: {compare(config, options.members)}")


if __name__ == "__main__":
    main()
