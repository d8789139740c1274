"""Go every default path under an audit hook: `default_paths.py FOLDER`.

Reads each format, trains, saves, loads, predicts and explains, first without the hook, so that
modules are imported and kernels are compiled, then with it; prints what it saw as JSON.
"""

import importlib.util
import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import mmalign
from mmalign.data import load_dataset, write_native
from mmalign.errors import DataError
from mmalign.evaluation.inspection import inspect_dataset
from mmalign.runs.manifest import load_masks
from tests.experts.made import made_clips
from tests.training.small import small_dataset, small_protocol, small_run

EVENTS = (
    *("pickle.find_class", "marshal.loads", "marshal.load", "exec", "compile", "code.__new__"),
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "ctypes.dlopen", "import"),
)
STARTS_A_PROCESS = ("csd",)


def samples() -> dict[str, Callable[[Path], Path]]:
    file = Path(__file__).parents[1] / "data" / "readers" / "conftest.py"
    spec = importlib.util.spec_from_file_location("samples", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: make for name, make in module.SAMPLES.items() if name not in STARTS_A_PROCESS}


def paths(folder: Path) -> dict[str, Callable[[], object]]:
    """What users do, by name; files are made here, before anybody looks."""
    clips = made_clips(12, seed=0)
    found: dict[str, Callable[[], object]] = {}
    for name, make in samples().items():
        place = folder / name
        place.mkdir()
        path = make(place)
        found[f"read {name}"] = lambda path=path: _read(path)
    write_native(small_dataset(), folder / "native")
    small_run(folder / "run", epochs=1).execute()
    mmalign.MMAlign(epochs=1).fit(clips).save(folder / "experts")
    test = small_protocol().apply(small_dataset())["test"]

    snapshot = hub_snapshot(folder / "run", folder / "hub")

    def train() -> None:
        shutil.rmtree(folder / "again", ignore_errors=True)
        small_run(folder / "again", epochs=1).execute()

    def save() -> None:
        mmalign.load(folder / "experts").save(folder / "copy")

    return found | {
        "read native": lambda: _read(folder / "native"),
        "train a pair": train,
        "load a run": lambda: mmalign.load(folder / "run").predict_proba(test),
        "from a folder of the Hub": lambda: mmalign.from_pretrained(snapshot),
        "masks": lambda: load_masks(folder / "run"),
        "fit experts": lambda: mmalign.MMAlign(epochs=1).fit(clips),
        "load experts": lambda: mmalign.load(folder / "experts").predict(clips),
        "save": save,
    }


def hub_snapshot(run: Path, cache: Path) -> Path:
    """A run as the Hub's cache keeps it: links into a folder of blobs that are named by hashes."""
    snapshot, blobs = cache / "snapshots" / "main", cache / "blobs"
    for place in (snapshot, blobs):
        place.mkdir(parents=True)
    for number, file in enumerate(file for file in run.iterdir() if file.is_file()):
        shutil.copy(file, blobs / str(number))
        (snapshot / file.name).symlink_to(Path("../../blobs") / str(number))
    return snapshot


def _read(path: Path) -> None:
    try:
        inspect_dataset(load_dataset(path, non_finite="zero"))
    except DataError:
        return


def main() -> None:
    folder = Path(sys.argv[1])
    todo = paths(folder)
    for act in todo.values():
        act()
    seen: list[str] = []

    def hook(event: str, arguments: tuple) -> None:
        if event in EVENTS:
            seen.append(f"{event} {arguments!r}"[:200])

    sys.addaudithook(hook)
    for act in todo.values():
        act()
    events = list(seen)
    eval("1 + 1")
    pickle.loads(pickle.dumps(Path("x")))
    works = any("exec" in line for line in seen) and any("find_class" in line for line in seen)
    answer = {"paths": len(todo), "events": events[:20], "hook_works": works}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
