"""Random alignment problems, and dense answers to them that share no code with the package."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree


@dataclass(frozen=True)
class Problems:
    """A ragged batch with one window and one epsilon."""

    source: torch.Tensor
    target: torch.Tensor
    source_lengths: torch.Tensor
    target_lengths: torch.Tensor
    window: int
    epsilon: float

    @property
    def arguments(self):
        return {
            "window": self.window,
            "epsilon": self.epsilon,
            "source_lengths": self.source_lengths,
            "target_lengths": self.target_lengths,
        }

    def clips(self):
        """Source, target of every clip, without padding, as arrays."""
        for x, y, n, m in zip(
            self.source, self.target, self.source_lengths, self.target_lengths, strict=True
        ):
            yield x[:n].numpy(), y[:m].numpy()


def draw_problems(seed, *, batch=50, longest=60, epsilons=(0.01, 5.0), dtype=torch.float64):
    """Equal and unequal lengths; repeated, anti-parallel and zero vectors; NaN in the padding."""
    rng = np.random.default_rng(seed)
    window = int(rng.integers(1, 13))
    lengths = [draw_lengths(rng, window, longest) for _ in range(batch)]
    dim = int(rng.integers(2, 9))
    sides = np.full((2, batch, longest, dim), np.nan)
    for clip, pair in enumerate(lengths):
        alphabet = rng.standard_normal((rng.integers(1, 2 * longest), dim))
        for side, length in enumerate(pair):
            letters = alphabet[rng.integers(0, len(alphabet), length)]
            signs = rng.choice([1.0, -1.0, 0.0], (length, 1), p=[0.8, 0.15, 0.05])
            sides[side, clip, :length] = letters * signs
    n, m = torch.tensor(lengths).T
    source, target = torch.from_numpy(sides).to(dtype)
    epsilon = float(np.exp(rng.uniform(*np.log(epsilons))))
    return Problems(source, target, n.contiguous(), m.contiguous(), window, epsilon)


def draw_lengths(rng, window, longest):
    n = int(rng.integers(1, longest + 1))
    if rng.random() < 0.5:
        return n, n
    # Up to E13's bound m/n <= 2 window - 1, where every band is feasible.
    return n, int(rng.integers(1, min(longest, max(1, (2 * window - 1) * n)) + 1))


def dense_cost(source, target, window):
    """1 - cosine, and infinity outside the band (design E8, E13)."""
    n, m = len(source), len(target)
    cost = 1.0 - unit(source) @ unit(target).T
    distance = abs((2 * np.arange(m) + 1) * n - (2 * np.arange(n)[:, None] + 1) * m)
    return np.where(distance <= 2 * n * window, cost, np.inf)


def unit(steps):
    norms = np.linalg.norm(steps, axis=1, keepdims=True)
    return steps / np.where(norms > 0, norms, 1.0)


def log_scalings(plan, cost, epsilon):
    """Row potentials u with plan = exp(u_i + v_j - cost/epsilon), along the heaviest entries."""
    n, m = plan.shape
    rows, columns = np.nonzero(plan)
    sums = np.log(plan[rows, columns]) + cost[rows, columns] / epsilon
    # A spanning tree of entries; lightness + 1 because a graph drops zeros.
    lightness = 1.0 - np.log(plan[rows, columns] / plan.max())
    graph = csr_array((lightness, (rows, columns + n)), shape=(n + m, n + m))
    tree = minimum_spanning_tree(graph)
    order, parents = breadth_first_order(tree, 0, directed=False)
    total = np.full((n, m), np.nan)
    total[rows, columns] = sums
    potentials = np.zeros(n + m)
    for node in order[1:]:
        parent = parents[node]
        i, j = (node, parent) if node < n else (parent, node)
        potentials[node] = total[i, j - n] - potentials[parent]
    return potentials[:n], potentials[n:], len(order) == n + m
