"""What is exported: a fitted model, as the graph and its check see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Float32

from mmalign.data.clip import Clip
from mmalign.data.task import Classification, Task
from mmalign.errors import MMAlignError
from mmalign.estimator import MMAlign
from mmalign.estimator.experts import ExpertsMMAlign
from mmalign.export.graph import Graph, Value

Row = Float32[np.ndarray, " features"]


@dataclass(frozen=True)
class Subject:
    """A fitted model.

    Attributes:
        task: What it predicts.
        needs: Modalities that no clip may lack.
        scales: Mean and scale of the features of each modality, in the order of the inputs.
        write: Writes it into a graph; gives raw outputs `[batch, outputs]`.
        answers: Asks the model itself: probabilities, or numbers `[clips, 1]`.
    """

    task: Task
    needs: tuple[str, ...]
    scales: Mapping[str, tuple[Row, Row]]
    write: Callable[[Graph], Value]
    answers: Callable[[list[Clip]], Float[np.ndarray, "clips outputs"]]

    @property
    def dims(self) -> dict[str, int]:
        """Features a step of each modality."""
        return {name: len(mean) for name, (mean, _) in self.scales.items()}


def subject_of(model: MMAlign) -> Subject:
    """A fitted estimator as a subject.

    Raises:
        MMAlignError: If the model is not fitted.
    """
    task = model.task
    if task is None:
        raise MMAlignError("this model is not fitted. Call fit(clips) first.")

    def answers(clips: list[Clip]) -> Float[np.ndarray, "clips outputs"]:
        if isinstance(task, Classification):
            return model.predict_proba(clips)
        return np.asarray(model.predict(clips))[:, None]

    if isinstance(model, ExpertsMMAlign):
        scales, write = _of_experts(model)
    else:
        scales, write = _of_network(model)
    return Subject(task, model.needs, scales, write, answers)


def _of_experts(model: ExpertsMMAlign) -> tuple[dict[str, tuple[Row, Row]], Any]:
    from mmalign.export.experts import experts_outputs

    panel = model.experts.fitted
    inputs = {name: panel.members[name,].taps.inputs for name in panel.modalities}
    scales = {name: (found.mean, found.scale) for name, found in inputs.items()}
    return scales, lambda graph: experts_outputs(graph, panel)


def _of_network(model: MMAlign) -> tuple[dict[str, tuple[Row, Row]], Any]:
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.estimator.pair import PairMMAlign
    from mmalign.export.network import network_outputs
    from mmalign.predictor.scaler import Scaler
    from mmalign.training.methods import find_method, see_visible_twice

    estimator = cast(NetworkMMAlign, model)
    predictor = estimator.fitted
    network = predictor.model
    read_as = {name: name for name in network.modalities}
    is_twice = find_method(estimator.config.method).see is see_visible_twice
    if isinstance(estimator, PairMMAlign) and is_twice:
        read_as[estimator.victim] = estimator.visible

    def scale(name: str) -> tuple[Row, Row]:
        scaler = cast(Scaler, network.scalers[network.modalities.index(name)])
        return scaler.mean.cpu().numpy(), scaler.scale.cpu().numpy()

    def write(graph: Graph) -> Value:
        outputs = network_outputs(graph, predictor.members, read_as)
        if predictor.task.outputs > 1:
            return outputs
        return outputs * float(network.label_scale) + float(network.label_mean)

    return {name: scale(name) for name in dict.fromkeys(read_as.values())}, write
