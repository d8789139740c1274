"""How much memory and time it takes to convert a large pickle.

Run: python benchmarks/bench_convert.py [--gigabytes N]

Writes a pickle in MISA's layout (float64, as the originals) with word vectors beside it, converts
it in a process of its own, and prints the peak resident memory over the size of the file.
"""

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS, VISUAL, ACOUSTIC, TEXT = 20, 47, 74, 300
LIMIT = 2.5

CONVERT = """
import resource, sys
from pathlib import Path
from mmalign.data import load_dataset, write_native
started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_native(load_dataset(sys.argv[1]), Path(sys.argv[2]))
print(started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_pickle(folder: Path, gigabytes: float) -> Path:
    rng = np.random.default_rng(0)
    vocabulary = [f"word{number}" for number in range(2000)]
    table = rng.normal(size=(len(vocabulary), TEXT)).astype(np.float32)
    np.savez(folder / "glove300.npz", emb=table, words=np.array(vocabulary))
    clip_bytes = WORDS * (VISUAL + ACOUSTIC) * 8
    rows = []
    for number in range(int(gigabytes * 1e9 / clip_bytes)):
        ids = rng.integers(0, len(vocabulary), WORDS)
        visual, acoustic = rng.normal(size=(WORDS, VISUAL)), rng.normal(size=(WORDS, ACOUSTIC))
        words = [vocabulary[i] for i in ids]
        rows.append(((ids, visual, acoustic, words), np.zeros((1, 1)), f"video{number}[0]"))
    file = folder / "train.pkl"
    with file.open("wb") as stream:
        pickle.dump(rows, stream, protocol=4)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the pickle")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # in a process of its own
    chosen = parser.parse_args()
    if chosen.write:
        write_pickle(chosen.write, chosen.gigabytes)
    else:
        convert(chosen.gigabytes)


def convert(gigabytes: float) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subprocess.run(
            [sys.executable, __file__, "--write", temporary, "--gigabytes", str(gigabytes)],
            check=True,
        )
        size = (folder / "train.pkl").stat().st_size
        started = time.monotonic()
        child = subprocess.run(
            [sys.executable, "-c", CONVERT, str(folder), str(folder / "native")],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - started
    before, peak = (1024 * int(number) for number in child.stdout.split())
    print(f"pickle {size / 1e9:.2f} GB, converted in {seconds:.0f} s")
    print(f"peak {peak / 1e9:.2f} GB = {peak / size:.2f} x its size (limit {LIMIT})")
    print(f"of which Python and its packages {before / 1e9:.2f} GB")
    sys.exit(peak > LIMIT * size)


if __name__ == "__main__":
    main()
