"""What is known about a model that is served."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmalign.data.task import Classification, Task
from mmalign.errors import MMAlignError
from mmalign.estimator import MMAlign
from mmalign.estimator.experts import ExpertsMMAlign
from mmalign.estimator.network import NetworkMMAlign
from mmalign.estimator.pair import PairMMAlign
from mmalign.runs.manifest import CARD
from mmalign.training.methods import find_method


@dataclass(frozen=True)
class Facts:
    """What a client must know to ask.

    Attributes:
        name: Of the run's directory.
        kind: `experts`, `network` or `pair`.
        method: `experts`, or what imputes.
        task: What is predicted.
        dims: Features a step of each modality.
        needs: Modalities that no clip may lack.
        imputes: Modalities that are imputed where they are missing; others are left out.
        directions: Pairs of modalities between which there are plans.
        card: The model card, Markdown.
    """

    name: str
    kind: str
    method: str
    task: Task
    dims: Mapping[str, int]
    needs: tuple[str, ...]
    imputes: tuple[str, ...]
    directions: tuple[tuple[str, str], ...]
    card: str = ""

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes; none where numbers are predicted."""
        return self.task.classes if isinstance(self.task, Classification) else None


def facts_of(model: MMAlign, folder: Path) -> Facts:
    """The facts of a model that was loaded from a folder.

    Raises:
        MMAlignError: If the model is not fitted.
    """
    if model.task is None:
        raise MMAlignError("this model is not fitted. Serve a finished run.")
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    name = folder.resolve().name
    if isinstance(model, ExpertsMMAlign):
        dims = model.experts.dims()
        return Facts(name, "experts", "experts", model.task, dims, (), (), (), text)
    if not isinstance(model, NetworkMMAlign):
        raise MMAlignError(f"{folder}: {type(model).__name__} cannot be served.")
    bank = model.fitted.model.bank
    method = find_method(model.config.method)
    directions = tuple((d.source, d.target) for d in bank.directions)
    return Facts(
        name,
        "pair" if isinstance(model, PairMMAlign) else "network",
        model.config.method,
        model.task,
        model.fitted.features(),
        model.needs,
        () if method.is_dedicated else tuple(dict.fromkeys(bank.targets)),
        directions if method.is_aligned else (),
        text,
    )
