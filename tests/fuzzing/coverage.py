"""Coverage-guided fuzzing of one parser: `coverage.py TARGET CORPUS... [-max_total_time=60]`.

Whatever is raised beside our own errors ends it, with the input that did it in a file. Options are
those of libFuzzer.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mmalign"]):
    from mmalign.data import open_dataset
    from mmalign.data.arrays import parse_npy
    from mmalign.data.missingness import Masks
    from mmalign.data.native.cost import check_cost
    from mmalign.data.pickles import PickleMachine
    from mmalign.data.readers.glove import read_glove
    from mmalign.data.readers.vectors import load_vectors
    from mmalign.documents import parse_object, unsealed
    from mmalign.errors import MMAlignError

ROOM = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
FILE = ROOM / f"mmalign-fuzz-{Path(tempfile.mkdtemp()).name}"


def written(data: bytes) -> Path:
    FILE.unlink(missing_ok=True)  # the old one may be mapped still
    FILE.write_bytes(data)
    return FILE


def read_all(data: bytes) -> None:
    for split in open_dataset(written(data)).splits.values():
        sum(1 for _ in split)


TARGETS: dict[str, Callable[[bytes], object]] = {
    "pickle": lambda data: PickleMachine(memoryview(data)).run(),
    "npy": lambda data: parse_npy(memoryview(data)),
    "parquet": lambda data: check_cost(memoryview(data)),
    "json": lambda data: unsealed(parse_object(data)),
    "masks": Masks.parse,
    "glove": lambda data: read_glove(memoryview(data), ["a", "the"]),
    "vectors": lambda data: load_vectors(written(data), ["a", "the"]),
    "file": read_all,
}


def main() -> None:
    target = TARGETS[sys.argv[1]]
    refusals = (MMAlignError, ValueError) if sys.argv[1] == "json" else (MMAlignError,)

    def one(data: bytes) -> None:
        try:
            target(data)
        except refusals as error:
            if len(str(error)) > 5000:
                raise RuntimeError("a message that is too long") from error

    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    try:
        atheris.Fuzz()
    finally:
        FILE.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
