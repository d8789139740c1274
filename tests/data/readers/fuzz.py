"""Damage small files of every format at random and read them: `fuzz.py MUTANTS SEED [FORMAT...]`.

Each mutant is read or refused with a DataError that names its file; anything else is printed. It
runs outside pytest: without the type checks of tests, as users run it, and where a crash of the
interpreter is seen as one.
"""

import atexit
import importlib.util
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mmalign.data import open_dataset, synthetic_twin, write_native
from mmalign.data.readers.csd import sequences, worker
from mmalign.data.twin import TwinConfig
from mmalign.errors import DataError

SECONDS = 10
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are written: a disk would be kept busy with files that live for a millisecond."""


def load_samples() -> dict:
    spec = importlib.util.spec_from_file_location(
        "samples", Path(__file__).with_name("conftest.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {**module.SAMPLES, "native": write_native_sample}


def write_native_sample(folder: Path) -> Path:
    twin = synthetic_twin(TwinConfig(clips=(6, 3, 3))).dataset
    write_native(twin, folder / "native")
    return folder / "native"


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip bits, overwrite, insert or remove."""
    data = bytearray(content)
    kind = rng.choice(["cut", "flip", "flip", "flip", "overwrite", "insert", "remove", "zero"])
    at = rng.randrange(len(data))
    size = rng.choice([1, 2, 4, 8, 64])
    if kind == "cut":
        del data[at:]
    elif kind == "flip":
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "overwrite":
        data[at : at + size] = rng.randbytes(size)
    elif kind == "insert":
        data[at:at] = rng.randbytes(size)
    elif kind == "remove":
        del data[at : at + size]
    else:
        data[at : at + size] = bytes(size)
    return bytes(data)


def fork_worker(files: Sequence[Path], out: Path, *, total_bytes: int) -> None:
    """Like `sequences.run_worker`, in a fork of a small process."""
    limits = (*sequences.limits_for(total_bytes)[:2], SECONDS)
    process = _forking()
    process.stdin.write(json.dumps([str(out), *map(str, limits), *map(str, files)]) + "\n")
    process.stdin.flush()
    code, told = json.loads(process.stdout.readline())
    if code == -signal.SIGALRM:
        raise TimeoutError("the worker did not end")
    if code:
        raise sequences.refusal(code, told.encode(), files)


@cache
def _forking() -> subprocess.Popen:
    """The process that forks workers; it ends with its standard input."""
    script = Path(__file__).with_name("csd_forks.py")
    command = [sys.executable, "-I", str(script), worker.__file__]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, text=True, **pipes)
    atexit.register(process.communicate)  # so that its time counts as ours
    return process


def attempt(path: Path, folder: Path) -> str:
    """Read everything; how it ended."""
    try:
        dataset = open_dataset(path)
        sum(1 for split in dataset.splits.values() for _ in split)
    except DataError as error:
        if error.file is None or not error.problem or not str(error.file).startswith(str(folder)):
            return f"no place: {error}"
        if "unexpected content" not in error.problem:
            return "refused"
        print(f"unforeseen: {error}", file=sys.stderr)
        return "unforeseen"
    return "read"


def on_alarm(*_) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def fuzz(name: str, build, mutants: int, rng: random.Random) -> Counter:
    outcomes: Counter = Counter()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as temporary:
        folder = Path(temporary)
        path = build(folder)
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        for _ in range(mutants):
            file = rng.choice(files)
            original = file.read_bytes()
            mutant = mutate(original, rng)
            replacement = folder / "mutant"
            replacement.write_bytes(mutant)
            replacement.replace(file)  # a new file: the old one may still be mapped
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                outcome = attempt(path, folder)
            except Exception as error:
                outcome = "failed"
                place = traceback.extract_tb(error.__traceback__)[-1]
                kept = Path(tempfile.gettempdir()) / f"mutant-{name}-{abs(hash(mutant)):x}"
                shutil.copy(file, kept)
                print(f"{name}/{file.name}: {type(error).__name__}: {error} at {place} kept {kept}")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if outcome.startswith("no place"):
                print(f"{name}/{file.name}: {outcome}")
                outcome = "failed"
            outcomes[outcome] += 1
            replacement.write_bytes(original)
            replacement.replace(file)
    return outcomes


def main() -> None:
    mutants, seed, *names = sys.argv[1:]
    sequences.run_worker = fork_worker
    signal.signal(signal.SIGALRM, on_alarm)
    builders = {n: b for n, b in load_samples().items() if not names or n in names}
    share = -(-int(mutants) // len(builders))
    for name, build in builders.items():  # so that every module we need is imported
        fuzz(name, build, 1, random.Random(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total: Counter = Counter()
    for name, build in builders.items():
        started = time.monotonic()
        outcomes = fuzz(name, build, share, random.Random(f"{seed} {name}"))
        total += outcomes
        print(name, dict(outcomes), f"{time.monotonic() - started:.1f} s", file=sys.stderr)
    rise = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(json.dumps({**total, "mutants": total.total(), "rss_rise_mb": rise}))
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
