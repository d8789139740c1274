"""Small files in every supported format, and what is in them."""

import io
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

WORDS = ["good", "movie", "bad", "plot", "fine", "acting"]
VIDEOS = {"train": "2iD-tVS8NPw", "dev": "WKA5OygbEKI", "test": "tmZoasNr4rU"}
EMOTIONS = ["neutral", "joy", "anger"]


class Python2Pickler(pickle._Pickler):
    """Writes text and bytes as Python 2's `str`, which is both."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_raw(self, content: bytes) -> None:
        size = len(content)
        head = b"U" + bytes([size]) if size < 256 else b"T" + struct.pack("<i", size)
        self.write(head + content)

    def save_bytes(self, content: bytes) -> None:
        self.save_raw(content)
        self.memoize(content)

    def save_text(self, content: str) -> None:
        self.save_raw(content.encode())
        self.memoize(content)

    dispatch[bytes] = save_bytes
    dispatch[str] = save_text


def python2_dumps(value) -> bytes:
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(value)
    return stream.getvalue()


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def features(rng, *shape, dtype=np.float64):
    return rng.normal(size=shape).astype(dtype)


def misa_rows(split: str, count: int = 4, *, label_columns: int = 1, dtype=np.float64, items=4):
    rng = generator(len(split))
    rows = []
    for number in range(count):
        length = 2 + number
        ids = rng.integers(0, len(WORDS), length)
        words = [WORDS[i] for i in ids]
        content = [
            ids + 2,
            features(rng, length, 3, dtype=dtype),
            features(rng, length, 2, dtype=dtype),
        ]
        if items >= 4:
            content.append(words)
        else:
            content[0] = words
        if items == 6:
            content += [length - 1, length]
        label = np.clip(features(rng, 1, label_columns), 0, 3).astype(np.float32)
        rows.append((tuple(content), label, f"{VIDEOS[split]}[{number}]"))
    return rows


def table():
    return features(generator(1), len(WORDS) + 2, 5, dtype=np.float32)


def write_vectors(folder: Path) -> Path:
    np.savez(folder / "glove5.npz", emb=table(), words=np.array(["<unk>", "<pad>", *WORDS]))
    return folder / "glove5.npz"


def write_misa(folder: Path) -> Path:
    for split in ("train", "dev", "test"):
        rows = misa_rows(split)
        (folder / f"{split}.pkl").write_bytes(pickle.dumps(rows, protocol=4))
        lengths = [len(row[0][3]) for row in rows]
        times = np.arange(2.0 * sum(lengths)).reshape(-1, 2)
        np.savez_compressed(folder / f"{split}_word_times.npz", times=times, length=lengths)
    write_vectors(folder)
    return folder


def write_misa_python2(folder: Path) -> Path:
    (folder / "train.pkl").write_bytes(python2_dumps(misa_rows("train")))
    write_vectors(folder)
    return folder


def write_misa_protocol0(folder: Path) -> Path:
    (folder / "dev.pkl").write_bytes(pickle.dumps(misa_rows("dev"), protocol=0))
    write_vectors(folder)
    return folder


def write_misa_torch(folder: Path, *, legacy: bool = False) -> Path:
    import torch

    (folder / "train.pkl").write_bytes(pickle.dumps(misa_rows("train"), protocol=3))
    mapping = {word: row for row, word in enumerate(["<unk>", "<pad>", *WORDS])}
    torch.save(
        (torch.from_numpy(table()), mapping),
        folder / "embedding_and_mapping.pt",
        _use_new_zipfile_serialization=not legacy,
    )
    return folder


def write_misa_legacy_torch(folder: Path) -> Path:
    return write_misa_torch(folder, legacy=True)


def write_mag_bert(folder: Path) -> Path:
    value = {split: misa_rows(split, items=3) for split in ("train", "dev", "test")}
    (folder / "mosi.pkl").write_bytes(pickle.dumps(value))
    write_vectors(folder)
    return folder / "mosi.pkl"


def write_resplit(folder: Path) -> Path:
    group = folder / "resplit" / "group_1"
    group.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        rows = misa_rows(split)
        for rate, kept in ((25, 1), (50, 2)):
            (group / f"{split}_complete_{rate}.pkl").write_bytes(pickle.dumps(rows[:kept]))
            (group / f"{split}_missing_{rate}.pkl").write_bytes(pickle.dumps(rows[kept:]))
    write_vectors(folder)
    return group


def write_meld(folder: Path) -> Path:
    for split in ("train", "dev", "test"):
        rng = generator(len(split))
        rows = []
        for number in range(4):
            length = 2 + number
            rows.append(
                {
                    "token_ids": rng.integers(0, 8, length).tolist(),
                    "video_features": features(rng, length, 4, dtype=np.float32),
                    "audio_features": features(rng, length, 3, dtype=np.float32),
                    "label": number % 3,
                }
            )
        (folder / f"{split}.pkl").write_bytes(pickle.dumps(rows))
    (folder / "embedding.p").write_bytes(pickle.dumps(table().astype(np.float64)))
    return folder


def write_meld_csv(folder: Path) -> Path:
    header = "Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode"
    for split in ("train", "dev", "test"):
        lines = [header]
        for number in range(4):
            emotion = EMOTIONS[number % 3]
            sentiment = "positive" if emotion == "joy" else "negative"
            text = '"A good movie, isn\u2019t it?"'
            place = f"{number // 2},{number % 2},1,2"
            lines.append(f"{number},{text},Ross,{emotion},{sentiment},{place}")
        (folder / f"{split}_sent_emo.csv").write_text("\n".join(lines), encoding="utf-8")
    rows = [
        " ".join([word, *(f"{x:.4f}" for x in vector)])
        for word, vector in zip(WORDS, table(), strict=False)
    ]
    (folder / "glove.5d.txt").write_text("\n".join(rows) + "\n")
    return folder


def padded(rng, lengths, time, dim, *, front):
    array = np.zeros((len(lengths), time, dim))
    for row, length in enumerate(lengths):
        where = slice(time - length, time) if front else slice(0, length)
        array[row, where] = features(rng, length, dim)
    return array


def mult_value(*, front: bool = True, aligned: bool = True):
    rng = generator()
    lengths = [3, 5, 2, 6]
    times = (6, 6, 6) if aligned else (6, 9, 12)
    value = {}
    for split in ("train", "valid", "test"):
        value[split] = {
            "text": padded(rng, lengths, times[0], 5, front=front).astype(np.float32),
            "vision": padded(rng, lengths, times[1], 3, front=front),
            "audio": padded(rng, lengths, times[2], 2, front=front),
            "labels": np.linspace(-2, 2, 4).reshape(4, 1, 1),
            "id": np.array([[f"{split}{n}".encode(), b"0.5", b"2.25"] for n in range(4)]),
        }
    return value


def write_mult(folder: Path) -> Path:
    (folder / "mosi_data.pkl").write_bytes(pickle.dumps(mult_value(), protocol=2))
    return folder / "mosi_data.pkl"


def write_mult_noalign(folder: Path) -> Path:
    value = mult_value(front=False, aligned=False)
    (folder / "mosi_data_noalign.pkl").write_bytes(pickle.dumps(value, protocol=4))
    return folder / "mosi_data_noalign.pkl"


def write_iemocap(folder: Path) -> Path:
    value = mult_value()
    for content in value.values():
        yes = np.eye(4)[[0, 1, 2, 3]]
        content["labels"] = np.stack([1 - yes, yes], axis=-1)
    (folder / "iemocap_data.pkl").write_bytes(pickle.dumps(value))
    return folder / "iemocap_data.pkl"


def mmsa_value(*, aligned: bool):
    rng = generator()
    lengths, audio, vision = [3, 5, 2, 6], [4, 9, 3, 7], [5, 8, 1, 12]
    value = {}
    for split in ("train", "valid", "test"):
        mask = np.arange(6) < np.array(lengths)[:, None]
        tokens = np.stack([mask * 7, mask, mask * 0], axis=1).astype(np.float64)
        content = {
            "raw_text": ["good movie"] * 4,
            "text": padded(rng, lengths, 6, 5, front=False).astype(np.float32),
            "audio": padded(
                rng, lengths if aligned else audio, 6 if aligned else 9, 2, front=False
            ),
            "vision": padded(
                rng, lengths if aligned else vision, 6 if aligned else 12, 3, front=False
            ),
            "text_bert": tokens,
            "id": [f"{VIDEOS['dev' if split == 'valid' else split]}$_${n}" for n in range(4)],
            "annotations": ["Negative", "Neutral", "Positive", "Positive"],
            "classification_labels": np.array([0, 1, 2, 2]),
            "regression_labels": [-1.0, 0.0, 1.5, 3.0],
        }
        if not aligned:
            content["audio_lengths"], content["vision_lengths"] = audio, vision
        value[split] = content
    return value


def write_mmsa_aligned(folder: Path) -> Path:
    (folder / "aligned_6.pkl").write_bytes(pickle.dumps(mmsa_value(aligned=True), protocol=5))
    return folder / "aligned_6.pkl"


def write_mmsa_unaligned(folder: Path) -> Path:
    (folder / "unaligned_6.pkl").write_bytes(pickle.dumps(mmsa_value(aligned=False)))
    return folder / "unaligned_6.pkl"


def write_mmsa_clip(folder: Path) -> Path:
    rng = generator()
    value = {
        "text": features(rng, 4, 5),
        "audio": features(rng, 9, 2),
        "vision": features(rng, 7, 3),
    }
    (folder / "clip.pkl").write_bytes(pickle.dumps(value))
    return folder / "clip.pkl"


def write_npz_flat(folder: Path) -> Path:
    rng = generator()
    np.savez_compressed(
        folder / "own.npz",
        wrist=features(rng, 14, 3, dtype=np.float32),
        wrist_len=np.array([3, 5, 2, 4]),
        pose=features(rng, 9, 2),
        pose_len=np.array([4, 0, 3, 2]),
        action=np.array([1, 2, 1, 3], dtype=np.int16),
        subject=np.array([1, 1, 2, 2]),
        trial=np.array([1, 2, 1, 2]),
    )
    return folder / "own.npz"


def write_npz_padded(folder: Path) -> Path:
    rng = generator()
    np.savez(
        folder / "own.npz",
        wrist=features(rng, 4, 5, 3),
        lengths=np.array([3, 5, 2, 4]),
        label=np.array(["run", "walk", "run", "sit"]),
        split=np.array(["train", "train", "dev", "test"]),
        id=np.array(["a", "b", "c", "d"]),
    )
    return folder / "own.npz"


def write_npy_folder(folder: Path) -> Path:
    rng = generator()
    lines = ["id,label,split"]
    for modality, dim in (("wrist", 3), ("pose", 2)):
        (folder / modality).mkdir()
        for number in range(5):
            if modality == "pose" and number == 3:
                continue
            np.save(folder / modality / f"clip{number}.npy", features(rng, 2 + number, dim))
    lines += [
        f"clip{n},{n * 0.5},{['train', 'train', 'valid', 'test', 'test'][n]}" for n in range(5)
    ]
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def write_csd_file(file: Path, root: str, entries) -> None:
    import h5py

    with h5py.File(file, "w") as handle:
        for video, (values, intervals) in entries.items():
            group = handle.create_group(f"{root}/data/{video}")
            group["features"], group["intervals"] = values, intervals
        handle.create_dataset(f"{root}/metadata/md5", data=[json.dumps("none")])


def write_csd(folder: Path) -> Path:
    rng = generator()
    words = np.array([[b"sp"], [b"good"], [b"movie"], [b"sp"], [b"fine"]])
    spans = np.array([[0, 0.5], [0.5, 1], [1, 1.5], [1.5, 2], [2, 3]])
    frames = np.stack([np.arange(30) / 10, np.arange(1, 31) / 10], axis=1)
    videos = list(VIDEOS.values())
    write_csd_file(
        folder / "CMU_MOSI_TimestampedWords.csd", "words", dict.fromkeys(videos, (words, spans))
    )
    visual = {video: (features(rng, 30, 3), frames) for video in videos}
    write_csd_file(folder / "CMU_MOSI_Visual_Facet_41.csd", "FACET_4.1", visual)
    acoustic = {video: (features(rng, 30, 2), frames) for video in videos}
    write_csd_file(folder / "CMU_MOSI_COVAREP.csd", "COVAREP", acoustic)
    labels = (np.array([[1.25], [-2.0]]), np.array([[0, 1.5], [1.5, 3.0]]))
    write_csd_file(
        folder / "CMU_MOSI_Opinion_Labels.csd",
        "Opinion Segment Labels",
        dict.fromkeys(videos, labels),
    )
    write_vectors(folder)
    return folder


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "misa": write_misa,
    "misa_python2": write_misa_python2,
    "misa_protocol0": write_misa_protocol0,
    "misa_torch": write_misa_torch,
    "misa_legacy_torch": write_misa_legacy_torch,
    "mag_bert": write_mag_bert,
    "resplit": write_resplit,
    "meld": write_meld,
    "meld_csv": write_meld_csv,
    "mult": write_mult,
    "mult_noalign": write_mult_noalign,
    "iemocap": write_iemocap,
    "mmsa_aligned": write_mmsa_aligned,
    "mmsa_unaligned": write_mmsa_unaligned,
    "mmsa_clip": write_mmsa_clip,
    "npz_flat": write_npz_flat,
    "npz_padded": write_npz_padded,
    "npy_folder": write_npy_folder,
    "csd": write_csd,
}


@pytest.fixture
def samples() -> SimpleNamespace:
    """Builders of small files, by name, and the values they write."""
    return SimpleNamespace(
        all=SAMPLES,
        words=WORDS,
        videos=VIDEOS,
        table=table,
        misa_rows=misa_rows,
        mult_value=mult_value,
        mmsa_value=mmsa_value,
        write_vectors=write_vectors,
        write_csd_file=write_csd_file,
        python2_dumps=python2_dumps,
        **SAMPLES,
    )
