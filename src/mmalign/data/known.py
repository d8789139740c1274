"""Published datasets: what their files hash to, how many clips they have, and what is off."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from mmalign.data.dataset import Dataset
from mmalign.data.gaps import count_gaps
from mmalign.data.loading import open_dataset
from mmalign.data.native import is_native
from mmalign.data.native.opening import open_parquet
from mmalign.data.non_finite import find_non_finite
from mmalign.data.pickles import map_file
from mmalign.data.readers import ReadOptions
from mmalign.data.readers.csd.folds import corpus_of, standard_folds, video_of
from mmalign.errors import DataError, MissingVectorsError, counted
from mmalign.progress import track

Verdict = Literal["good", "note", "off"]

BLOCK_BYTES = 1 << 22

PUBLISHED_FILES: Mapping[str, str] = {
    "78e0f8b5ef8ff71558e7307848fc1fa929ecb078203f565ab22b9daab2e02524": "MOSI unaligned_50.pkl",
    "d3994fd25681f9c7ad6e9c6596a6fe9b4beb85ff7d478ba978b124139002e5f9": "MOSI aligned_50.pkl",
    "ad8b23d50557045e7d47959ce6c5b955d8d983f2979c7d9b7b9226f6dd6fec1f": "MOSEI unaligned_50.pkl",
    "45eccfb748a87c80ecab9bfac29582e7b1466bf6605ff29d3b338a75120bf791": "MOSEI aligned_50.pkl",
    "c9e20c13ec0454d98bb9c1e520e490c75146bfa2dfeeea78d84de047dbdd442f": "SIMS unaligned_39.pkl",
}
"""SHA-256 of MMSA's files, as its README publishes them."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    verdict: Verdict
    text: str


@dataclass(frozen=True)
class KnownSet:
    """Clips per split of a published set."""

    name: str
    counts: Mapping[str, int]

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether every split that is there has as many clips as it should."""
        return all(self.counts.get(name) == size for name, size in sizes.items())


def _known(name: str, train: int, valid: int, test: int) -> KnownSet:
    return KnownSet(name, {"train": train, "valid": valid, "test": test})


KNOWN_SETS: Sequence[KnownSet] = (
    _known("CMU-MOSI, all segments", 1284, 229, 686),
    _known("CMU-MOSI, without segments of unequal lengths", 1283, 214, 686),
    _known("CMU-MOSEI, as in MulT and MMSA", 16326, 1871, 4659),
    _known("CMU-MOSEI, 22777 clips, as in MultiBench", 16265, 1869, 4643),
    _known("MELD", 9989, 1109, 2610),
    _known("CH-SIMS", 1368, 456, 457),
    _known("IEMOCAP, as in MulT", 2717, 798, 938),
)


def verify(path: Path, options: ReadOptions | None = None) -> list[Finding]:
    """Say what a file, a directory or a built-in dataset is, and what is off about it.

    Raises:
        DataError: If there is no such path.
    """
    findings = _check_files(path)
    if is_native(path):
        findings += [_check_pages(file) for file in sorted(path.glob("*.parquet"))]
    try:
        dataset = open_dataset(path, options)
    except MissingVectorsError as error:
        return [*findings, Finding("note", str(error))]
    except DataError as error:
        if not path.exists():
            raise
        return [*findings, Finding("off", str(error))]
    findings += _check_counts(dataset)
    findings += _check_folds(dataset)
    findings += _check_values(dataset)
    return findings + [Finding("note", note) for note in dataset.notes]


def sha256_of(file: Path) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    digest = hashlib.sha256()
    size = file.stat().st_size
    with file.open("rb") as stream:
        for _ in track(range(0, size, BLOCK_BYTES), f"hashing {file.name}"):
            digest.update(stream.read(BLOCK_BYTES))
    return digest.hexdigest()


def _check_files(path: Path) -> list[Finding]:
    """Hashes of pickles: equal to a published one, or not, where the name claims to be one."""
    files = [path] if path.is_file() else sorted(f for f in path.glob("*.pkl") if f.is_file())
    findings = []
    for file in files:
        digest = sha256_of(file)
        published = PUBLISHED_FILES.get(digest)
        claims = [name for name in PUBLISHED_FILES.values() if name.endswith(f" {file.name}")]
        if published:
            findings.append(Finding("good", f"{file.name} is MMSA's {published}, bit for bit"))
        elif claims:
            text = f"{file.name} (SHA-256 {digest[:8]}…) is none of MMSA's {', '.join(claims)}"
            findings.append(Finding("note", f"{text}: another version, or damaged"))
    return findings


def _check_pages(file: Path) -> Finding:
    """Read every page of a Parquet file against the checksum that was written with it."""
    try:
        with open_parquet(map_file(file), page_checksum_verification=True) as handle:
            for index in track(range(handle.num_row_groups), f"checking {file.name}"):
                handle.read_row_group(index)
    except DataError as error:
        return Finding("off", f"{file.name} is damaged: {error.problem}")
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return Finding("off", f"{file.name} is damaged: {reason}")
    return Finding("good", f"{file.name}: all page checksums hold")


def _check_counts(dataset: Dataset) -> list[Finding]:
    sizes = {name: len(split) for name, split in dataset.splits.items()}
    told = ", ".join(f"{name} {size}" for name, size in sizes.items())
    fits = [known for known in KNOWN_SETS if known.fits(sizes)]
    corpus = corpus_of(_videos(dataset))
    if fits:
        known = fits[0]
        absent = [f"{name} ({known.counts[name]})" for name in known.counts if name not in sizes]
        found = [Finding("good", f"{told} clips: {known.name}")]
        return found + [Finding("note", f"not here: {', '.join(absent)}")] * bool(absent)
    if corpus is None:
        return [Finding("note", f"{told} clips: no published set that is known here")]
    wanted = [known for known in KNOWN_SETS if known.name.startswith(corpus)]
    expected = " or ".join("/".join(map(str, known.counts.values())) for known in wanted)
    return [Finding("off", f"{told} clips of {corpus}, which has {expected}")]


def _check_folds(dataset: Dataset) -> list[Finding]:
    """Whether every clip is in the split where the corpus's standard folds have its video."""
    corpus = corpus_of(_videos(dataset))
    if corpus is None:
        return []
    folds = standard_folds()[corpus]
    strays = [
        (clip_id, name, folds[video_of(clip_id)])
        for name, split in dataset.splits.items()
        for clip_id in split.ids
        if folds.get(video_of(clip_id), name) != name
    ]
    if not strays:
        return [Finding("good", f"every clip is in the standard fold of {corpus}")]
    clip_id, name, fold = strays[0]
    text = f"{len(strays)} clips are not in their standard fold of {corpus}"
    return [Finding("off", f"{text} ({clip_id} is in {name}, its video in {fold})")]


def _check_values(dataset: Dataset) -> list[Finding]:
    gaps = {
        (name, modality): count_gaps(split.observed(modality))
        for name, split in dataset.splits.items()
        for modality in sorted(split.gapped)
    }
    return [
        Finding(
            "note",
            f"{modality} lacks {counted(steps, 'step')} in {counted(clips, 'clip')} of {name}",
        )
        for (name, modality), (steps, clips) in gaps.items()
    ] + [
        Finding(
            "note",
            f"{counted(found.values, 'non-finite value')} of {found.modality} in "
            f"{counted(found.clips, 'clip')} of {found.split} (first: {found.first_clip}); "
            "choose --non-finite zero, clip or gap",
        )
        for found in find_non_finite(dataset)
    ]


def _videos(dataset: Dataset) -> set[str]:
    return {video_of(clip_id) for split in dataset.splits.values() for clip_id in split.ids}
