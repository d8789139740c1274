"""The paper's model on disk, as Hugging Face tools expect it."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from mmalign.data.task import Task, task_from_json, task_to_json
from mmalign.errors import CorruptArtifactError, MMAlignError
from mmalign.imputers.bank import Direction
from mmalign.predictor.model import Model
from mmalign.predictor.predictor import Predictor
from mmalign.predictor.saved_names import from_pair_file, to_pair_file
from mmalign.runs.card import card_text, task_in_words
from mmalign.runs.manifest import Saved, read_saved
from mmalign.training.config import Config, config_from, config_to_json
from mmalign.training.methods import build_model


@dataclass(frozen=True)
class Artifact:
    """A trained model of the paper's kind: what predicts, and the settings it was trained with."""

    predictor: Predictor
    config: Config

    def saved(self, summary: str = "") -> Saved:
        """The model as it is written; `summary` is what the card says of its training."""
        predictor = self.predictor
        state = predictor.model.state_dict()
        named = state if predictor.model.pair is None else to_pair_file(state)
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in named.items()}
        settings = {
            "task": task_to_json(predictor.task),
            **_streams_to_json(predictor.model),
            "config": config_to_json(self.config),
        }
        payload = save_tensors(weights, metadata={"format": "pt"})
        return Saved(settings, payload, self._card(summary))

    def _card(self, summary: str) -> str:
        predictor, method = self.predictor, self.config.method
        uncertain = " or ".join(predictor.model.uncertain)
        features = ", ".join(f"{name} ({dim})" for name, dim in predictor.features().items())
        return card_text(
            tag=method,
            title=f"{method}: {_title(predictor.model)}",
            body=f"Task: {task_in_words(predictor.task)}. Features: {features}.\n\n{summary}",
            comment=f"clips without {uncertain} are fine",
        )


def load_artifact(folder: Path) -> Artifact:
    """The paper's model in a folder, verified byte by byte.

    Raises:
        CorruptArtifactError: If a file is missing or not as it was written.
        MMAlignError: If the folder holds no finished model, or one of another kind.
    """
    return artifact_of(read_saved(folder), folder)


def artifact_of(saved: Saved, folder: Path) -> Artifact:
    """The model that `Artifact.saved` gave; the folder is named in errors.

    Raises:
        CorruptArtifactError: If settings and weights do not fit.
        MMAlignError: If it is a model of another kind.
    """
    settings = saved.settings
    if "kind" in settings:
        raise MMAlignError(f"{folder}: this run is of {settings['kind']}, which do not align.")
    try:
        task = task_from_json(settings["task"])
        config = config_from(settings["config"])
        model = _model_from(settings, config, task, load_tensors(saved.weights))
    except (KeyError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise CorruptArtifactError(
            f"{folder}: settings and weights do not fit ({error})"
        ) from error
    model.eval()
    return Artifact(Predictor(model, task), config)


def _streams_to_json(model: Model) -> dict[str, Any]:
    """What a model reads and imputes; the paper's pair says it in its own words."""
    if model.pair is not None:
        return {
            "visible": model.pair.source,
            "victim": model.pair.target,
            "features": model.features,
        }
    return {
        "modalities": model.modalities,
        "directions": model.bank.directions,
        "features": model.features,
    }


def _model_from(
    settings: dict[str, Any], config: Config, task: Task, weights: dict[str, Tensor]
) -> Model:
    """A model as the settings describe it, with these weights."""
    if "visible" in settings:
        modalities = settings["visible"], settings["victim"]
        directions, weights = [Direction(*modalities)], from_pair_file(weights)
    else:
        modalities = tuple(settings["modalities"])
        directions = [Direction(*ends) for ends in settings["directions"]]
    dims = {name: settings["features"][name] for name in modalities}
    model = build_model(config, task, dims, directions)
    has_gaps = [f"backbone.encoders.{place}.gap" in weights for place in range(len(modalities))]
    model.backbone.learn_gaps(list(itertools.compress(modalities, has_gaps)))
    model.load_state_dict(weights)
    return model


def _title(model: Model) -> str:
    if model.pair is not None:
        return f"{model.pair.source} with {model.pair.target} that may be missing"
    return f"{', '.join(model.modalities)}, any of which may be missing"
