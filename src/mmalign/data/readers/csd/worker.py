"""Copy .csd files into plain binary files, in a process of its own with limited memory.

The HDF5 library is C code that damaged files can crash and crafted ones can send for terabytes;
here it can take nothing down but itself. Run by path, so nothing of mmalign is imported:
`worker.py OUT MEMORY_BYTES OUTPUT_BYTES SECONDS FILE...`. For file number k it writes
`k.features`, `k.intervals` and `k.json`; a refusal is one JSON line on standard output.
"""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

EXIT_REFUSED = 3


class RefusedError(Exception):
    """The file is not a computational sequence."""


def limit(memory_bytes: int, output_bytes: int, seconds: int) -> None:
    """Bound this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (
        ("RLIMIT_AS", memory_bytes),
        ("RLIMIT_FSIZE", output_bytes),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_CORE", 0),
    ):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, hard))


def convert(file: str, out: Path, number: int, max_bytes: int) -> None:
    """Write the arrays of one file, entry after entry.

    Raises:
        RefusedError: If it is not laid out as a computational sequence.
    """
    import h5py

    with (
        h5py.File(file, "r") as handle,
        (out / f"{number}.features").open("wb") as features,
        (out / f"{number}.intervals").open("wb") as intervals,
    ):
        root = next(iter(handle), None)
        if root is None or not isinstance(own(handle, root), h5py.Group):
            raise RefusedError("there is no group at its top")
        data = own(handle[root], "data") if "data" in handle[root] else None
        if not isinstance(data, h5py.Group):
            raise RefusedError(f"there is no group {root}/data")
        keys, counts, kinds = [], [], set()
        for key in data:
            count, kind = copy_entry(data, key, features, intervals, max_bytes)
            if count:
                keys.append(key)
                counts.append(count)
                kinds.add(kind)
    if len(kinds) != 1:
        raise RefusedError(f"entries have different types or dims: {sorted(map(str, kinds))[:4]}")
    described = {"root": root, "keys": keys, "counts": counts, "kind": kinds.pop()}
    (out / f"{number}.json").write_text(json.dumps(described))


def own(group: Any, name: str) -> Any:
    """The member of a group, if it lies in this very file: links could point at any other."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise RefusedError(f"{name} is a link")
    return group[name]


def copy_entry(
    data: Any, key: str, features: BinaryIO, intervals: BinaryIO, max_bytes: int
) -> tuple[int, Any]:
    """Append one video's arrays; returns its number of rows and its type (a dim, or "text")."""
    import h5py
    import numpy as np

    entry = own(data, key)
    if not isinstance(entry, h5py.Group) or not {"features", "intervals"} <= set(entry):
        raise RefusedError(f"entry {key} has no features and intervals")
    values, times = own(entry, "features"), own(entry, "intervals")
    for array in (values, times):
        if not isinstance(array, h5py.Dataset) or array.is_virtual or array.external:
            raise RefusedError(f"entry {key} is not stored in the file")
        if array.size * max(array.dtype.itemsize, 1) > max_bytes:
            raise RefusedError(f"entry {key} announces {array.size:,} values")
    if values.ndim < 2 or times.ndim != 2 or times.shape[1] != 2 or len(values) != len(times):
        raise RefusedError(f"entry {key} has features {values.shape}, intervals {times.shape}")
    if times.dtype.kind not in "fiu":
        raise RefusedError(f"entry {key} has intervals of type {times.dtype}")
    intervals.write(times[()].astype("<f8").tobytes())
    if values.dtype.kind == "S" or h5py.check_string_dtype(values.dtype) is not None:
        texts = [bytes(t) if isinstance(t, bytes) else str(t).encode() for t in values[:, 0]]
        features.write(b"".join(text.replace(b"\n", b" ") + b"\n" for text in texts))
        return len(values), "text"
    if values.dtype.kind not in "fiu":
        raise RefusedError(f"entry {key} has features of type {values.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        rows = values[()].reshape(len(values), -1).astype("<f4") if len(values) else values[()]
    features.write(rows.tobytes())
    return len(values), int(np.prod(values.shape[1:]))


def main(arguments: list[str]) -> int:
    """Convert every file; the first that is refused ends the work."""
    out, memory_bytes, output_bytes, seconds = Path(arguments[0]), *map(int, arguments[1:4])
    limit(memory_bytes, output_bytes, seconds)
    for number, file in enumerate(arguments[4:]):
        try:
            convert(file, out, number, output_bytes)
        except ImportError:
            problem = "no h5py"
        except RefusedError as error:
            problem = str(error)
        except MemoryError:
            problem = "it asks for more memory than its size allows"
        except Exception as error:  # h5py raises whatever its C code makes of the bytes
            problem = f"not a readable HDF5 file ({type(error).__name__}: {error})"[:300]
        else:
            continue
        sys.stdout.write(json.dumps({"number": number, "problem": problem}) + "\n")
        return EXIT_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
