"""The meta-learning step of SMIL (Ma et al., AAAI 2021), with its second-order gradient."""

from collections.abc import Iterator
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from mmalign.imputers.smil import SMIL
from mmalign.model.hidden import step_error
from mmalign.model.pair import Pair
from mmalign.predictor.model import Model, main_loss
from mmalign.training.losses import labels_of

INNER_RATE = 1e-3
REGULARISATION_WEIGHT = 0.01


class RegularisedTask(nn.Module):
    """The main loss of clips with their victim imputed and their visible features regularised.

    It is a module, so that it can be computed with other weights than the model's own.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Pair) -> Float[Tensor, ""]:
        """The main loss, and how far the regularised features are from the clean ones."""
        model = self.model
        visible = model.encode_visible(batch)
        regularised = cast(SMIL, model.imputer).regularised(visible)
        outputs = model.backbone.predict(regularised, model.impute(visible))
        distance = step_error(regularised.steps, visible) + functional.mse_loss(
            regularised.head, visible.head
        )
        return main_loss(model, outputs, labels_of(batch)) + REGULARISATION_WEIGHT * distance

    def learning_weights(self) -> dict[str, nn.Parameter]:
        """What the inner step changes: the backbone, but for the victim's encoder."""
        return {
            name: weight
            for name, weight in self.named_parameters()
            if name.startswith("model.backbone.")
            and not name.startswith("model.backbone.encode_victim.")
        }


def meta_loss(model: Model, missing: Pair, complete: Iterator[Pair]) -> Float[Tensor, ""]:
    """Loss on the missing batch, plus loss on a complete one after a step on the missing batch.

    inner = L(missing; theta),  theta* = theta - alpha * grad inner,  outer = L(complete; theta*)

    The victim of the complete batch is imputed, too. The gradient of the outer loss runs through
    the inner step, so imputer and regularisation learn what makes that step a good one. Under
    torchrun each process makes the inner step on its own share of the batch.
    """
    task = RegularisedTask(model)
    inner = task(missing)
    weights = task.learning_weights()
    gradients = torch.autograd.grad(
        inner, list(weights.values()), create_graph=True, materialize_grads=True
    )
    stepped = {
        name: weight - INNER_RATE * gradient
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }
    outer: Tensor = functional_call(task, stepped, (next(complete),))
    total: Tensor = inner + outer
    return total
