"""The contract that every imputer keeps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign.align.plan import BandPlan
from mmalign.model.hidden import Hidden


class Imputer(nn.Module, ABC):
    """Produces the target's hidden steps from the source hidden sequence.

    An imputer learns in two ways. `fit_loss` is minimised over all its parameters on complete
    clips, with hidden sequences that carry no gradient to the backbone. Parameters that
    `task_parameters` names learn from the main task as well, through the backbone's steps.
    What is neither, such as statistics of the target's steps, `prepare` may keep in buffers.
    """

    @abstractmethod
    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""] | None:
        """How badly this imputer does on complete clips; None if there is nothing to fit."""

    @abstractmethod
    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The target's hidden steps, zeros from each clip's length on."""

    def draws(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Iterator[Float[Tensor, "batch target_time dim"]]:
        """Imputations whose predictions are averaged; one, unless the imputer is stochastic.

        They are the same at every call: predictions do not depend on a state of chance.
        """
        yield self.impute(source, target_lengths)

    def plan(self, source: Hidden, target: Hidden) -> BandPlan | None:  # noqa: ARG002
        """The true alignment of complete clips; None, unless the imputer learns from one."""
        return None

    def predicted_plan(
        self,
        source: Hidden,  # noqa: ARG002
        target_lengths: Int[Tensor, " batch"],  # noqa: ARG002
    ) -> Float[Tensor, "batch time width"] | None:
        """The alignment it imputes by, from the source alone; None where `plan` is None."""
        return None

    def prepare(self, target_steps: Callable[[], Float[Tensor, "steps dim"]]) -> None:
        """Get ready for an epoch of denoising training; nothing to do, unless overridden.

        Args:
            target_steps: Gives the target's hidden steps of all complete training clips as the
                encoder sees them now. It takes a pass over the clips: call it only if needed.
        """

    def task_parameters(self) -> list[nn.Parameter]:
        """Parameters that the main task trains too."""
        return []
