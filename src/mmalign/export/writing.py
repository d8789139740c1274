"""A fitted model as an ONNX file."""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.task import Classification
from mmalign.errors import ConfigError
from mmalign.estimator import MMAlign
from mmalign.export.graph import Graph
from mmalign.export.subject import Subject, subject_of
from mmalign.files import write_atomically

PROBABILITIES, VALUES = "probabilities", "values"


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        path: The file.
        size: Its bytes.
        difference: How far its answers are from the model's at most.
        dims: Features a step of each modality that it takes.
    """

    path: Path
    size: int
    difference: float
    dims: dict[str, int]


def export_onnx(model: MMAlign, path: str | PathLike[str]) -> Exported:
    """Write a fitted model as an ONNX file, which onnxruntime runs without mmalign.

    The file takes raw features, as `predict` does: for each modality its steps
    `[batch, time, features]`, in which a step of NaN is a gap, and `<modality>.length`, how many
    steps each clip has, 0 where it lacks the modality. It gives `probabilities` or `values`. Class
    names, modalities and task are in its metadata.

    Args:
        model: Fitted.
        path: File to write; an old one is replaced when the new one is whole and checked.

    Raises:
        ConfigError: If the packages of the extra `export` are not installed, or the model's
            method has no form as a graph.
        MMAlignError: If the model is not fitted, or its graph does not answer as it does; then
            nothing is written.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"exporting needs {error.name}. Install it: pip install 'mmalign[export]'"
        ) from error
    from mmalign.export.parity import check_parity

    subject = subject_of(model)
    payload: bytes = graph_of(subject).SerializeToString()
    difference = check_parity(payload, subject)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, payload)
    return Exported(target, len(payload), difference, subject.dims)


def graph_of(subject: Subject) -> Any:
    """The model of ONNX: inputs, operators, outputs and facts."""
    graph = Graph()
    outputs = subject.write(graph)
    if isinstance(subject.task, Classification):
        shares = outputs.apply("Softmax", axis=-1).cast(np.float32)
        graph.output(PROBABILITIES, shares, ["batch", subject.task.outputs])
    else:
        graph.output(VALUES, outputs.cast(np.float32).narrower(1), ["batch"])
    return graph.model(_facts(subject))


def _facts(subject: Subject) -> dict[str, str]:
    """What a program must know to use the file, each as JSON."""
    is_classified = isinstance(subject.task, Classification)
    facts: dict[str, Any] = {
        "task": "classification" if is_classified else "regression",
        "modalities": subject.dims,
        "needs": list(subject.needs),
    }
    if isinstance(subject.task, Classification):
        facts["classes"] = list(subject.task.classes)
    return {name: json.dumps(fact) for name, fact in facts.items()}
