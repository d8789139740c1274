"""The meta-learning step of SMIL (Ma et al., AAAI 2021), with its second-order gradient."""

from collections.abc import Iterator
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from mmalign.imputers.smil import SMIL
from mmalign.model.hidden import Known, step_error
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model, main_loss
from mmalign.training.losses import drawn_subset, labels_of

INNER_RATE = 1e-3
REGULARISATION_WEIGHT = 0.01


class RegularisedTask(nn.Module):
    """The main loss of clips with what they lack imputed, and features that are regularised.

    It is a module, so that it can be computed with other weights than the model's own.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Streams) -> Float[Tensor, ""]:
        """The main loss, and how far the regularised features are from the clean ones."""
        model = self.model
        known = model.known(batch)
        regularised = {name: self._regularised(name, found) for name, found in known.items()}
        outputs = model.backbone.predict(model.completed(known, regularised))
        loss = main_loss(model, outputs, labels_of(batch))
        for name, found in known.items():
            changed, clean = regularised[name].hidden, found.hidden
            distance = step_error(changed.steps, clean) + functional.mse_loss(
                changed.head, clean.head
            )
            loss = loss + REGULARISATION_WEIGHT * distance
        return loss

    def _regularised(self, modality: str, found: Known) -> Known:
        """Noisy features, by the first imputer that reads the modality, if one does."""
        for direction, way in self.model.bank.items():
            if direction.source == modality:
                return Known(cast(SMIL, way.imputer).regularised(found.hidden), found.is_there)
        return found

    def learning_weights(self) -> dict[str, nn.Parameter]:
        """What the inner step changes: the backbone, but for encoders that no imputer reads."""
        encoders = "model.backbone.encoders."
        unread = tuple(
            f"{encoders}{place}."
            for place, name in enumerate(self.model.modalities)
            if name not in self.model.bank.sources
        )
        return {
            name: weight
            for name, weight in self.named_parameters()
            if name.startswith("model.backbone.") and not name.startswith(unread)
        }


@sdpa_kernel(SDPBackend.MATH)  # fused attention has no second derivative
def meta_loss(model: Model, missing: Streams, complete: Iterator[Streams]) -> Float[Tensor, ""]:
    """Loss on the missing batch, plus loss on a complete one after a step on the missing batch.

    inner = L(missing; theta),  theta* = theta - alpha * grad inner,  outer = L(complete; theta*)

    The complete batch loses what may be missing, in a pair the victim, otherwise a random subset.
    The gradient of the outer loss runs through the inner step, so imputer and regularisation learn
    what makes that step a good one. Under torchrun each process makes the inner step on its own
    share of the batch.
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
    companion = next(complete).without(drawn_subset(model))
    outer: Tensor = functional_call(task, stepped, (companion,))
    total: Tensor = inner + outer
    return total
