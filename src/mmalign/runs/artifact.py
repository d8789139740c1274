"""The paper's model on disk, as Hugging Face tools expect it."""

from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from mmalign.data.names import check_names
from mmalign.data.task import Classification, task_from_json, task_to_json
from mmalign.errors import ConfigError, CorruptArtifactError, DataError, MMAlignError
from mmalign.predictor.members import member_prefix, split_members
from mmalign.predictor.predictor import Predictor
from mmalign.predictor.scaling import AS_PRINTED
from mmalign.runs.card import card_text, task_in_words
from mmalign.runs.manifest import Saved, read_saved
from mmalign.runs.network import (
    network_from,
    network_settings,
    network_title,
    network_weights,
)
from mmalign.training.config import Config, config_from, config_to_json

UNFIT = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError),
    *(MemoryError, SafetensorError, ConfigError, DataError),
)
"""Errors of settings and weights that do not fit; a RecursionError is a RuntimeError."""


@dataclass(frozen=True)
class Artifact:
    """A trained model of the paper's kind: what predicts, and the settings it was trained with."""

    predictor: Predictor
    config: Config

    def saved(self, summary: str = "") -> Saved:
        """The model as it is written; `summary` is what the card says of its training."""
        predictor = self.predictor
        settings = {
            "task": task_to_json(predictor.task),
            **network_settings(predictor.model),
            "config": config_to_json(self.config),
        }
        weights = {
            member_prefix(number) + name: tensor
            for number, model in enumerate(predictor.members)
            for name, tensor in network_weights(model).items()
        }
        payload = save_tensors(weights, metadata={"format": "pt"})
        return Saved(settings, payload, self._card(summary))

    def _card(self, summary: str) -> str:
        predictor, method = self.predictor, self.config.method
        features = ", ".join(f"{name} ({dim})" for name, dim in predictor.features().items())
        scalings = predictor.model.scalings.items()
        scaled = [f"{name}: {s.in_words}." for name, s in scalings if s != AS_PRINTED]
        about = [f"Task: {task_in_words(predictor.task)}. Features: {features}.", *scaled]
        if predictor.others:
            about.append(f"Answers are the mean of {len(predictor.members)} networks.")
        return card_text(
            tag=method,
            title=f"{method}: {network_title(predictor.model)}",
            body=f"{' '.join(about)}\n\n{summary}",
            comment=_comment(predictor),
        )


def _comment(predictor: Predictor) -> str:
    """What clips may be, in a word."""
    if len(predictor.modalities) == 1:
        return f"clips must have {predictor.modalities[0]}"
    return f"clips without {' or '.join(predictor.model.uncertain)} are fine"


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
        if isinstance(task, Classification):
            check_names("class", task.classes)
        config = config_from(settings["config"])
        weights = load_tensors(saved.weights)
        if config.members > len(weights):
            raise ValueError(f"{config.members} members, but {len(weights)} tensors")
        first, *others = (
            network_from(settings, config, task, own)
            for own in split_members(weights, config.members)
        )
    except UNFIT as error:
        raise CorruptArtifactError(
            f"{folder}: settings and weights do not fit ({error})"
        ) from error
    return Artifact(Predictor(first, task, others=tuple(others)), config)
