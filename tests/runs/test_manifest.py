"""A saved model or run is what was written, or refused with one short error."""

import hashlib
import json
import os
import random
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load, save

import mmalign
from mmalign import estimator  # noqa: F401 - so that forks need not import it
from mmalign.documents import sealed
from mmalign.errors import CorruptArtifactError, MMAlignError
from mmalign.runs.manifest import MANIFEST, load_masks, read_record, read_saved, seal
from tests.cost import cost_of
from tests.training.small import small_run

EARLIER = Path(__file__).parent / "format1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("manifest") / "run"
    small_run(out, epochs=1).execute()
    return out


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "copy")


def loaded(folder: Path) -> tuple:
    """All that is ever read of a run."""
    saved = read_saved(folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    masks = load_masks(folder)
    return (
        saved.settings,
        saved.weights,
        masks,
        manifest.get("data"),
        read_record(folder, "result.json"),
    )


def test_no_byte_of_a_run_can_change_unseen(copy):
    before = loaded(copy)
    rng = random.Random(0)
    files = [
        copy / name for name in (MANIFEST, MANIFEST, "masks.json", "result.json", "config.json")
    ]
    outcomes = {"same": 0, "refused": 0}
    for _ in range(400):
        file = rng.choice(files)
        content = file.read_bytes()
        mutant = bytearray(content)
        mutant[rng.randrange(len(mutant))] ^= 1 << rng.randrange(8)
        file.write_bytes(mutant)
        try:
            assert loaded(copy) == before, file
            outcomes["same"] += 1  # the damage hit a space
        except MMAlignError:
            outcomes["refused"] += 1
        file.write_bytes(content)
    assert outcomes["refused"] > 300


@pytest.mark.parametrize("folder", ["new", "earlier"])
def test_masks_that_the_manifest_does_not_name_are_no_reason_to_go_without(copy, tmp_path, folder):
    place = copy if folder == "new" else shutil.copytree(EARLIER, tmp_path / "earlier")
    content = (place / MANIFEST).read_text()
    (place / MANIFEST).write_text(content.replace('"masks.json"', '"masks.jsoo"'))
    with pytest.raises(CorruptArtifactError):
        load_masks(place)


def with_settings(folder: Path, **changes) -> None:
    """Change settings, with hashes that fit."""
    settings = json.loads((folder / "config.json").read_text())
    for name, value in changes.items():
        part = settings if name in settings else settings["config"]
        part[name] = value
    (folder / "config.json").write_text(json.dumps(settings))
    seal(folder, {})


ABSURD = {
    "layers": {"encoder_layers": 16_384},
    "many layers": {"encoder_layers": 10**9},
    "fusions": {"fusion_layers": 10**6},
    "width": {"dim": 2**20, "heads": 1},
    "kernel": {"kernel": 10**9 + 1},
    "heads": {"dim": 10**9, "heads": 10**9},
    "features": {"features": {"visible": 10**12, "victim": 3}},
    "no features": {"features": {}},
    "text for features": {"features": "abc"},
    "classes": {"task": {"kind": "classification", "classes": [str(n) for n in range(300_000)]}},
    "window": {"window": 10**9},
    "a list for config": {"config": []},
    "a scaling": {"scalings": {"visible": {"x": 1}}},
    "no modality": {"visible": None},
    "one modality": {"victim": "visible"},
}


@pytest.mark.parametrize("name", ABSURD)
def test_settings_of_absurd_sizes_take_neither_time_nor_memory(copy, name):
    with_settings(copy, **ABSURD[name])
    cost = cost_of(lambda: mmalign.load(copy), seconds=10)
    assert cost.outcome.startswith("CorruptArtifactError"), cost
    assert len(cost.outcome) < 2500
    assert cost.memory < 128 << 20


@pytest.mark.parametrize("kind", ["int32", "bool", "complex64", "float64", "float16"])
def test_tensors_of_another_type_are_not_cast(copy, kind):
    import torch

    weights = load((copy / "model.safetensors").read_bytes())
    name = next(name for name, tensor in weights.items() if tensor.dtype == torch.float32)
    weights[name] = weights[name].to(getattr(torch, kind))
    (copy / "model.safetensors").write_bytes(save(weights))
    seal(copy, {})
    with pytest.raises(CorruptArtifactError, match=kind):
        mmalign.load(copy)


@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b'{"files":' * 50_000, b"", b"\xff", b"[]", b"{}", b'{"files": 3}']
)
def test_a_manifest_that_is_none_is_one_short_error(copy, content):
    (copy / MANIFEST).write_bytes(content)
    with pytest.raises(MMAlignError) as caught:
        mmalign.load(copy)
    assert len(str(caught.value)) < 2500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "result.json", "masks.json"])
def test_json_nested_too_deeply_is_refused_though_its_hash_fits(copy, name):
    (copy / name).write_bytes(b"[" * 200_000)
    seal(copy, {})
    with pytest.raises(CorruptArtifactError):
        loaded(copy)


@pytest.mark.parametrize("name", [MANIFEST, "config.json", "model.safetensors", "masks.json"])
def test_devices_and_fifos_do_not_make_loading_wait(copy, name):
    for make in (lambda file: file.symlink_to("/dev/zero"), os.mkfifo):
        (copy / name).unlink()
        make(copy / name)
        cost = cost_of(lambda: (mmalign.load(copy), load_masks(copy)), seconds=5)
        assert "Error" in cost.outcome
        assert cost.seconds < 5


def test_hashes_that_are_no_text_are_refused(copy):
    files = {"config.json": ["a"] * 10**5, "model.safetensors": None}
    (copy / MANIFEST).write_text(json.dumps(sealed({"format": 2, "files": files})))
    with pytest.raises(CorruptArtifactError) as caught:
        mmalign.load(copy)
    assert len(str(caught.value)) < 2500


def test_weights_that_are_no_safetensors_are_refused(copy):
    (copy / "model.safetensors").write_bytes(b"\xff" * 100)
    seal(copy, {})
    with pytest.raises(CorruptArtifactError):
        mmalign.load(copy)


def test_a_run_of_format_1_needs_no_hash_of_its_manifest():
    manifest = json.loads((EARLIER / MANIFEST).read_text())
    assert "sha256" not in manifest
    content = (EARLIER / "masks.json").read_bytes()
    assert manifest["files"]["masks.json"] == hashlib.sha256(content).hexdigest()
    assert load_masks(EARLIER) is not None
