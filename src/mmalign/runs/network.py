"""A network in a file: what it reads and imputes, and its weights under lasting names."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor

from mmalign.data.names import check_names
from mmalign.data.task import Task
from mmalign.imputers.bank import Direction
from mmalign.model.loading import check_weights
from mmalign.predictor.model import Model
from mmalign.predictor.scaling import AS_PRINTED, Scaling
from mmalign.runs.names import PAIR, described, renamed
from mmalign.training.config import Config
from mmalign.training.methods import build_model


def network_settings(model: Model) -> dict[str, Any]:
    """What the model reads and imputes, as plain settings."""
    ends: dict[str, Any] = {"modalities": model.modalities, "directions": model.bank.directions}
    if model.pair is not None:
        ends = {"visible": model.pair.source, "victim": model.pair.target}
    scalings = {m: asdict(s) for m, s in model.scalings.items() if s != AS_PRINTED}
    return {**ends, "features": model.features, **({"scalings": scalings} if scalings else {})}


def network_weights(model: Model) -> dict[str, Tensor]:
    """The weights under the names of their file."""
    names = PAIR if model.pair is not None else {}
    return {
        renamed(name, names): tensor.detach().cpu().contiguous()
        for name, tensor in model.state_dict().items()
    }


def network_from(
    settings: Mapping[str, Any], config: Config, task: Task, weights: Mapping[str, Tensor]
) -> Model:
    """The model with these settings and weights.

    Raises:
        KeyError, RuntimeError, TypeError, ValueError: If they do not fit each other.
    """
    modalities, ends, names = described(settings)
    directions = [Direction(*one) for one in ends]
    dims = {name: settings["features"][name] for name in modalities}
    scalings = {name: Scaling(**s) for name, s in settings.get("scalings", {}).items()}
    known = {renamed(name, names): tensor for name, tensor in weights.items()}
    gapped = [m for place, m in enumerate(modalities) if f"backbone.encoders.{place}.gap" in known]

    def make() -> Model:
        model = build_model(config, task, dims, directions, scalings)
        model.backbone.learn_gaps(gapped)
        return model

    check_names("modality", modalities)
    _check_parts(config, modalities, directions, most=len(known))
    check_weights(make, known)
    model = make()
    model.load_state_dict(known)
    return model.eval()


def network_title(model: Model) -> str:
    """What it does, for the head of a model card."""
    if model.pair is not None:
        return f"{model.pair.source} with {model.pair.target} that may be missing"
    if len(model.modalities) == 1:
        return f"{model.modalities[0]} alone"
    return f"{', '.join(model.modalities)}, any of which may be missing"


def _check_parts(
    config: Config, modalities: Collection[str], directions: Collection[Direction], *, most: int
) -> None:
    """Check that there are no more parts than tensors: even to count them takes time.

    Raises:
        ValueError: If there are.
    """
    encoders = config.encoder_layers * len(modalities)
    fusions = config.fusion_layers * max(len(modalities), len(directions))
    if max(encoders, fusions) > most:
        raise ValueError(f"{encoders} encoder and {fusions} fusion layers, but {most} tensors")
