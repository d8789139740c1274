"""The contract that every imputer keeps."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign.model.hidden import Hidden


class Imputer(nn.Module, ABC):
    """Produces the victim's hidden steps from the visible hidden sequence.

    An imputer learns in two ways. `fit_loss` is minimised over all its parameters on complete
    clips, with hidden sequences that carry no gradient to the backbone. Parameters that
    `task_parameters` names learn from the main task as well, through the backbone's steps.
    """

    @abstractmethod
    def fit_loss(self, visible: Hidden, victim: Hidden) -> Float[Tensor, ""] | None:
        """How badly this imputer does on complete clips; None if there is nothing to fit."""

    @abstractmethod
    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """The victim's hidden steps, zeros from each clip's length on."""

    def task_parameters(self) -> list[nn.Parameter]:
        """Parameters that the main task trains too."""
        return []
