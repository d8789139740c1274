"""Damage small files of every format at random and read them: `fuzz.py MUTANTS SEED [FORMAT...]`.

Each mutant is read or refused with a DataError that names its file; anything else is printed. It
runs outside pytest: without the type checks of tests, as users run it, and where a crash of the
interpreter is seen as one.
"""

import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from mmalign.data import open_dataset, synthetic_twin, write_native
from mmalign.data.readers.csd import sequences, worker
from mmalign.data.twin import TwinConfig
from mmalign.errors import DataError

SECONDS = 5


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


def fork_worker(files, out, *, total_bytes) -> None:
    """Like `run_worker`, with h5py already imported: a fork takes 5 ms, a new Python 300."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        limits = (*sequences.limits_for(total_bytes)[:2], SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        os._exit(worker.main([str(out), *map(str, limits), *map(str, files)]))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGALRM:
        raise TimeoutError("the worker did not end")
    if code:
        raise sequences.refusal(code, told, files)


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
    with tempfile.TemporaryDirectory() as temporary:
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
    import h5py  # noqa: F401 - so that forked workers have it

    sequences.run_worker = fork_worker
    signal.signal(signal.SIGALRM, on_alarm)
    builders = {n: b for n, b in load_samples().items() if not names or n in names}
    share = -(-int(mutants) // len(builders))
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
