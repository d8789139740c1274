"""What is known about a model that is served."""

from collections.abc import Mapping
from dataclasses import dataclass

from mmalign.data.task import Task


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
