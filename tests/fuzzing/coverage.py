"""Coverage-guided fuzzing of one parser: `coverage.py TARGET CORPUS... [-max_total_time=60]`.

Whatever is raised beside our own errors ends it, with the input that did it in a file. Options are
those of libFuzzer.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Target = Callable[[bytes], object]
ROOM = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())


def make_targets(atheris: Any, file: Path) -> dict[str, Target]:
    """Parsers by name, imported in a way that shows which of their code an input reaches."""
    with atheris.instrument_imports(include=["mmalign"]):
        from mmalign.data import open_dataset
        from mmalign.data.arrays import parse_npy
        from mmalign.data.missingness import Masks
        from mmalign.data.native.cost import check_cost
        from mmalign.data.pickles import PickleMachine
        from mmalign.data.readers.glove import read_glove
        from mmalign.data.readers.vectors import load_vectors
        from mmalign.documents import parse_object, unsealed

    def written(data: bytes) -> Path:
        file.unlink(missing_ok=True)  # the old one may be mapped still
        file.write_bytes(data)
        return file

    def read_all(data: bytes) -> None:
        for split in open_dataset(written(data)).splits.values():
            sum(1 for _ in split)

    return {
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
    import atheris

    file = ROOM / f"mmalign-fuzz-{Path(tempfile.mkdtemp()).name}"
    target = make_targets(atheris, file)[sys.argv[1]]
    from mmalign.errors import MMAlignError

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
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
