"""A saved model's files and their hashes: checked before anything is parsed. No pickle anywhere.

`config.json`, `model.safetensors` and `README.md` can be shared as they are; `manifest.json` holds
the SHA-256 of each, and of its own content.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Masks
from mmalign.documents import SEAL, parse_object, unsealed
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.files import drafts_of, read_regular, replaced_directory, write_atomically
from mmalign.runs.records import write_json, write_sealed
from mmalign.version import __version__

FORMAT_VERSION = 1
SEALED_VERSION = 2  # a manifest that holds a hash of itself
WEIGHTS, SETTINGS, CARD, MANIFEST = "model.safetensors", "config.json", "README.md", "manifest.json"
IDENTITY, MASKS = "run.json", "masks.json"
SAVED_FILES = frozenset({WEIGHTS, SETTINGS, CARD, MANIFEST})


@dataclass(frozen=True)
class Saved:
    """A model as it stands on disk.

    Attributes:
        settings: What `config.json` says of it, beside format and version.
        weights: The bytes of `model.safetensors`.
        card: The text of `README.md`.
    """

    settings: dict[str, Any]
    weights: bytes
    card: str = ""


def write_saved(folder: Path, saved: Saved) -> None:
    """Write a model's files into a folder; call `seal` when all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"library_name": "mmalign", "format": FORMAT_VERSION, "mmalign_version": __version__}
    write_atomically(folder / WEIGHTS, saved.weights)
    write_json(folder / SETTINGS, {**about, **saved.settings})
    write_atomically(folder / CARD, saved.card.encode())


def seal(folder: Path, details: dict[str, Any]) -> None:
    """Write the manifest: details, and the SHA-256 of every file beside it."""
    files = {
        file.name: hashlib.sha256(read_regular(file)).hexdigest()
        for file in sorted(folder.iterdir())
        if file.is_file() and file.name != MANIFEST and not file.name.startswith(".")
    }
    write_sealed(folder / MANIFEST, {"format": SEALED_VERSION, **details, "files": files})


def replace_saved(folder: Path, saved: Saved) -> None:
    """Save a model in a directory of its own; one that is there is replaced as a whole.

    Raises:
        MMAlignError: If the directory holds anything else than a saved model.
    """
    with replaced_directory(folder, own=SAVED_FILES) as draft:
        write_saved(draft, saved)
        seal(draft, {})


def read_saved(folder: Path) -> Saved:
    """Settings and weights of the model in a folder, verified byte by byte.

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
    settings = _verified(folder, SETTINGS, manifest)
    weights = _verified(folder, WEIGHTS, manifest)
    try:
        return Saved(parse_object(settings), weights)
    except ValueError as error:
        raise CorruptArtifactError(f"{folder / SETTINGS}: no settings ({error})") from error


def drop_weights(folder: Path) -> None:
    """Remove a finished run's weights; all else about it stays.

    Raises:
        CorruptArtifactError: If the manifest is damaged.
        MMAlignError: If the folder holds no finished model.
    """
    manifest = _read_manifest(folder)
    if manifest["files"].pop(WEIGHTS, None) is not None:
        write_sealed(folder / MANIFEST, {**manifest, "format": SEALED_VERSION})
    for file in (folder / WEIGHTS, *drafts_of(folder / MANIFEST)):
        file.unlink(missing_ok=True)


def load_masks(folder: Path) -> Masks[Any] | None:
    """The masks a run was trained under, verified; none if nothing was taken away.

    Raises:
        CorruptArtifactError: If the file is missing or not as it was written.
        MMAlignError: If the folder holds no finished model.
    """
    manifest = _read_manifest(folder)
    if MASKS not in manifest["files"] and not (folder / MASKS).exists():
        return None
    try:
        return Masks.parse(_verified(folder, MASKS, manifest))
    except DataError as error:
        raise CorruptArtifactError(f"{folder / MASKS}: {error}") from error


def read_record(folder: Path, name: str) -> dict[str, Any]:
    """The object in a JSON file of a finished run, verified.

    Raises:
        CorruptArtifactError: If the file is missing or not as it was written.
        MMAlignError: If the folder holds no finished run.
    """
    try:
        return parse_object(_verified(folder, name, _read_manifest(folder)))
    except ValueError as error:
        raise CorruptArtifactError(f"{folder / name}: no record ({error})") from error


def is_trained_on(folder: Path, dataset: Dataset, modalities: list[str]) -> bool:
    """Whether a run was trained on this dataset, by the hash of these modalities.

    Raises:
        CorruptArtifactError: If the manifest is damaged.
        MMAlignError: If the folder holds no finished model.
    """
    if not set(modalities) <= set(dataset.dims):
        return False
    known = _read_manifest(folder).get("data")
    return bool(known == dataset_hash(dataset.only(modalities)))


def _read_manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    if not file.is_file():
        where = "there is no such directory" if not folder.is_dir() else f"there is no {MANIFEST}"
        fix = "Give the directory that mmalign train wrote (its --out)."
        if (folder / IDENTITY).is_file():
            where = "its training was stopped"
            fix = "Repeat the command that trains it: it goes on from what is saved."
        raise MMAlignError(f"{folder}: not a finished run: {where}. {fix}")
    try:
        manifest = parse_object(read_regular(file))
        if manifest.get("format") == SEALED_VERSION or SEAL in manifest:
            manifest = unsealed(manifest)
        files = manifest["files"]
        if not isinstance(files, dict) or not all(isinstance(h, str) for h in files.values()):
            raise TypeError("files is no object of hashes")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(f"{file}: not a manifest ({error})") from error
    if manifest.get("format") not in (FORMAT_VERSION, SEALED_VERSION):
        raise MMAlignError(
            f"{folder}: format {manifest.get('format')} is not known here. Upgrade mmalign."
        )
    return manifest


def _verified(folder: Path, name: str, manifest: dict[str, Any]) -> bytes:
    try:
        content = read_regular(folder / name)
    except OSError as error:
        raise CorruptArtifactError(f"{folder / name}: cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != manifest["files"].get(name):
        raise CorruptArtifactError(
            f"{folder / name}: its bytes are not those that were written. Copy or train it again."
        )
    return content
