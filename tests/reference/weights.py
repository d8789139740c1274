"""Weights after three epochs, every method, both passes off and on: a hash of each.

Uses the public interface alone, so that any version of the package can be asked.
Run: python -m tests.reference.weights > tests/reference/weights.json
"""

import hashlib
import json
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numba
import torch
from safetensors import safe_open

import mmalign
from mmalign.data import TwinConfig, synthetic_twin

TWIN = TwinConfig(clips=(40, 12, 4), shortest=5, longest=9, window=1, symbols=10, dim=6)
SMALL = {"dim": 8, "heads": 2, "window": 3, "batch_size": 16, "epochs": 3, "warm_up": 1}
METHODS = (
    "mmalign",
    "mfm",
    "smil",
    "modal-trans",
    "modal-trans-uncached",
    "modal-trans-parallel",
    "dynamic-window",
    "zero-fill",
    "mean-fill",
    "copy",
    "uniform-window",
    "random-plan",
    "lb",
    "lb-complete",
    "ub",
)


def machine() -> dict[str, str]:
    """What the last bits depend on beside the code."""
    cpu = Path("/proc/cpuinfo")
    text = cpu.read_text() if cpu.exists() else ""
    # Libraries choose their kernels by these; one model name can stand for several processors.
    facts = re.findall(r"^(?:model name|cpu family|model|stepping|flags)\s*:.*$", text, re.M)
    first = sorted(set(facts)) or [platform.processor()]
    return {
        "processor": hashlib.sha256("\n".join(first).encode()).hexdigest()[:16],
        "torch": str(torch.__version__),
        "numba": str(numba.__version__),
    }


def weights_hash(method: str, *, both_passes: bool) -> str:
    """Train on a small twin of which half the clips lack their victim; hash what was learned."""
    data = synthetic_twin(TWIN).dataset
    protocol = mmalign.Protocol(visible="visible", victim="victim", survival=0.5, setting="B")
    seen = protocol.apply(data)
    settings = {"method": method, "both_passes": both_passes, **SMALL}
    model = mmalign.MMAlign("visible", "victim", device="cpu", **settings)
    model.fit(seen["train"], valid=seen["valid"])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return hash_of(Path(folder) / "model" / "model.safetensors")


def hash_of(file: Path) -> str:
    """Hash names, shapes and bits of all tensors, not the file's layout."""
    digest = hashlib.sha256()
    with safe_open(file, "pt") as tensors:
        for name in sorted(tensors.keys()):
            tensor = tensors.get_tensor(name)
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def all_hashes() -> Iterator[tuple[str, str]]:
    """Name and hash of every case."""
    torch.set_num_threads(1)
    for method in METHODS:
        for both_passes in (False, True):
            name = f"{method}, both passes" if both_passes else method
            yield name, weights_hash(method, both_passes=both_passes)


if __name__ == "__main__":
    json.dump({"machine": machine(), "weights": dict(all_hashes())}, sys.stdout, indent=2)
    sys.stdout.write("\n")
