"""A trained model on disk, as Hugging Face tools expect it, with a hash of every file.

`config.json`, `model.safetensors` and `README.md` can be shared as they are; `manifest.json` holds
the SHA-256 of each, which is checked before a file is parsed. No pickle anywhere.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Masks
from mmalign.data.task import Classification, task_from_json, task_to_json
from mmalign.errors import CorruptArtifactError, MMAlignError
from mmalign.files import drafts_of, replaced_directory, write_atomically
from mmalign.predictor.predictor import Predictor
from mmalign.runs.network import (
    network_from,
    network_settings,
    network_title,
    network_weights,
)
from mmalign.runs.records import write_json
from mmalign.training.config import Config, config_from, config_to_json
from mmalign.version import __version__

FORMAT_VERSION = 1
WEIGHTS, SETTINGS, CARD, MANIFEST = "model.safetensors", "config.json", "README.md", "manifest.json"
MASKS = "masks.json"
SAVED_FILES = frozenset({WEIGHTS, SETTINGS, CARD, MANIFEST})


@dataclass(frozen=True)
class Artifact:
    """A loaded model: what predicts, and the settings it was trained with."""

    predictor: Predictor
    config: Config


def save_artifact(folder: Path, artifact: Artifact, *, summary: str = "") -> None:
    """Write weights, settings and model card into a folder; call `seal` when all is there."""
    predictor = artifact.predictor
    folder.mkdir(parents=True, exist_ok=True)
    weights = network_weights(predictor.model)
    write_atomically(folder / WEIGHTS, save_tensors(weights, metadata={"format": "pt"}))
    settings = {
        "library_name": "mmalign",
        "format": FORMAT_VERSION,
        "mmalign_version": __version__,
        "task": task_to_json(predictor.task),
        **network_settings(predictor.model),
        "config": config_to_json(artifact.config),
    }
    write_json(folder / SETTINGS, settings)
    write_atomically(folder / CARD, _model_card(artifact, summary).encode())


def seal(folder: Path, details: dict[str, Any]) -> None:
    """Write the manifest: details, and the SHA-256 of every file beside it."""
    files = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if file.is_file() and file.name != MANIFEST and not file.name.startswith(".")
    }
    write_json(folder / MANIFEST, {"format": FORMAT_VERSION, **details, "files": files})


def replace_artifact(folder: Path, artifact: Artifact) -> None:
    """Save a model in a directory of its own; one that is there is replaced as a whole.

    Raises:
        MMAlignError: If the directory holds anything else than a saved model.
    """
    _check_replaceable(folder)
    with replaced_directory(folder) as draft:
        save_artifact(draft, artifact)
        seal(draft, {})


def _check_replaceable(folder: Path) -> None:
    """Check that the folder is a saved model, empty, or not there at all.

    Raises:
        MMAlignError: If not.
    """
    problem = ""
    if folder.is_file():
        problem = "is a file. Give the path of a directory."
    elif folder == Path.cwd():
        problem = "is the working directory, which cannot be replaced. Give a path inside it."
    elif folder.exists() and {file.name for file in folder.iterdir()} - SAVED_FILES:
        problem = "holds other files than a saved model. Give another path."
    if problem:
        raise MMAlignError(f"{folder}: {problem}")


def drop_weights(folder: Path) -> None:
    """Remove a finished run's weights; all else about it stays.

    Raises:
        CorruptArtifactError: If the manifest is damaged.
        MMAlignError: If the folder holds no finished model.
    """
    manifest = _read_manifest(folder)
    if manifest["files"].pop(WEIGHTS, None) is not None:
        write_json(folder / MANIFEST, manifest)
    for file in (folder / WEIGHTS, *drafts_of(folder / MANIFEST)):
        file.unlink(missing_ok=True)


def load_artifact(folder: Path) -> Artifact:
    """The model in a folder, verified byte by byte.

    Raises:
        CorruptArtifactError: If a file is missing or not as it was written.
        MMAlignError: If the folder holds no finished model.
    """
    manifest = _read_manifest(folder)
    if WEIGHTS not in manifest["files"]:
        raise MMAlignError(
            f"{folder}: the grid that this run belongs to has dropped its weights. "
            "Train it again with mmalign bench … --keep weights in another --out."
        )
    settings_bytes = _verified(folder, SETTINGS, manifest)
    weights_bytes = _verified(folder, WEIGHTS, manifest)
    try:
        settings = json.loads(settings_bytes)
        task = task_from_json(settings["task"])
        config = config_from(settings["config"])
        model = network_from(settings, config, task, load_tensors(weights_bytes))
    except (KeyError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise CorruptArtifactError(
            f"{folder}: settings and weights do not fit ({error})"
        ) from error
    return Artifact(Predictor(model, task), config)


def load_masks(folder: Path) -> Masks | None:
    """The masks a run was trained under, verified; none if the model was saved without a run.

    Raises:
        CorruptArtifactError: If the file is missing or not as it was written.
        MMAlignError: If the folder holds no finished model.
    """
    manifest = _read_manifest(folder)
    if MASKS not in manifest["files"]:
        return None
    return Masks.parse(_verified(folder, MASKS, manifest))


def is_trained_on(folder: Path, dataset: Dataset, *, visible: str, victim: str) -> bool:
    """Whether a run was trained on this dataset, by the hash of its pair of modalities.

    Raises:
        CorruptArtifactError: If the manifest is damaged.
        MMAlignError: If the folder holds no finished model.
    """
    if not {visible, victim} <= set(dataset.dims):
        return False
    known = _read_manifest(folder).get("data")
    return bool(known == dataset_hash(dataset.only([visible, victim])))


def _read_manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    if not file.is_file():
        where = "there is no such directory" if not folder.is_dir() else f"there is no {MANIFEST}"
        raise MMAlignError(
            f"{folder}: not a finished run: {where}. Train it with mmalign train … --out {folder}."
        )
    try:
        manifest = json.loads(file.read_bytes())
        if not isinstance(manifest["files"], dict):
            raise TypeError("files is no object")
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(f"{file}: not a manifest ({error})") from error
    if manifest.get("format") != FORMAT_VERSION:
        raise MMAlignError(
            f"{folder}: format {manifest.get('format')} is not known here. Upgrade mmalign."
        )
    return dict(manifest)


def _verified(folder: Path, name: str, manifest: dict[str, Any]) -> bytes:
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise CorruptArtifactError(f"{folder / name}: cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != manifest["files"].get(name):
        raise CorruptArtifactError(
            f"{folder / name}: its bytes are not those that were written. Copy or train it again."
        )
    return content


def _model_card(artifact: Artifact, summary: str) -> str:
    predictor, config = artifact.predictor, artifact.config
    if isinstance(predictor.task, Classification):
        task = f"classification into {', '.join(predictor.task.classes)}"
    else:
        task = "regression"
    features = ", ".join(f"{name} ({dim})" for name, dim in predictor.features().items())
    uncertain = " or ".join(predictor.model.uncertain)
    return f"""---
library_name: mmalign
license: mit
tags: [multimodal, missing-modality, {config.method}]
---
# {config.method}: {network_title(predictor.model)}

Task: {task}. Features: {features}.

{summary}
```python
import mmalign
model = mmalign.load("path/to/this/directory")
model.predict(clips)   # clips without {uncertain} are fine
```
Made with mmalign {__version__}; settings are in `config.json`, hashes in `manifest.json`.
"""
