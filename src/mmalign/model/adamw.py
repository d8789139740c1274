"""Adam with decoupled weight decay, and gradients that are clipped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

EPSILON = 1e-8
Slots = dict[str, Tensor]


@runtime_checkable
class Optimizer(Protocol):
    """What training asks of an optimiser; torch's have it too."""

    param_groups: list[dict[str, Any]]

    def zero_grad(self) -> None:
        """Forget the gradients."""

    def step(self) -> Any:
        """Change the weights by their gradients."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""


class AdamW:
    """Torch's fused kernel, to the bit, without torch's class around it.

    The first optimiser of `torch.optim` imports torch's compiler, which is of no use here and takes
    2 s and 70 MB: of a short training the largest part. Like there, a weight without a gradient is
    left alone, and keeps its count of steps.

    Args:
        weights: What is changed.
        rate: Step size.
        weight_decay: Decoupled weight decay.
        betas: How slowly the means of gradients and of their squares follow.
    """

    def __init__(
        self,
        weights: Iterable[Tensor],
        *,
        rate: float,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.weights = list(weights)
        self.param_groups: list[dict[str, Any]] = [{"params": self.weights, "lr": rate}]
        self.weight_decay = weight_decay
        self.betas = betas
        self.slots: dict[int, Slots] = {}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the weights by their gradients."""
        chosen = [index for index, weight in enumerate(self.weights) if weight.grad is not None]
        if not chosen:
            return
        slots = [self.slots_of(index) for index in chosen]
        counts = [slot["step"] for slot in slots]
        torch._foreach_add_(counts, 1)
        weights = [self.weights[index] for index in chosen]
        torch._fused_adamw_(
            weights,
            [cast(Tensor, self.weights[index].grad) for index in chosen],
            [slot["exp_avg"] for slot in slots],
            [slot["exp_avg_sq"] for slot in slots],
            [],
            counts,
            lr=self.param_groups[0]["lr"],
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=self.weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )
        # The fused kernel does not count its changes; packed copies tell by that if they are old.
        torch.autograd.graph.increment_version(weights)

    def slots_of(self, index: int) -> Slots:
        """What is remembered of a weight; nothing before its first step."""
        if index not in self.slots:
            weight = self.weights[index].detach()
            self.slots[index] = {
                "step": torch.zeros((), dtype=torch.float32, device=weight.device),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
        return self.slots[index]

    def state_dict(self) -> dict[str, Any]:
        """Steps and means by the place of their weight, under the names that torch gives them."""
        return {"state": dict(self.slots)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a checkpoint.

        Raises:
            ValueError: If it is of other weights.
        """
        found: dict[int, Slots] = {}
        for index, slots in state_dict["state"].items():
            weight = self.weights[index]
            if any(slots[name].shape != weight.shape for name in ("exp_avg", "exp_avg_sq")):
                raise ValueError(f"weight {index} has another shape than its means")
            found[index] = {n: tensor.to(weight.device, copy=True) for n, tensor in slots.items()}
        self.slots = found


@torch.no_grad()
def clip_gradients(weights: Sequence[Tensor], most: float) -> float:
    """Scale the gradients down to this norm if they are longer; gives the norm they had.

    The same bits as `nn.utils.clip_grad_norm_`, which multiplies by 1 where nothing is to be done.
    """
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    if not gradients:
        return 0.0
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    share = most / (norm + 1e-6)
    if bool(share < 1):
        torch._foreach_mul_(gradients, share)
    return float(norm)
