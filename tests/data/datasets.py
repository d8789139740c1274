"""Random datasets for property tests, and a way to compare them bit by bit."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mmalign.data import Classification, Clip, Dataset, Regression, Split
from mmalign.errors import UNPRINTABLE

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
UNPRINTABLE_SIGNS = "".join(chr(n) for n in range(0x2100) if UNPRINTABLE.search(chr(n)))
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters=UNPRINTABLE_SIGNS), min_size=1, max_size=6
)


@st.composite
def sequences(draw, dim):
    steps = draw(st.integers(1, 5))
    return draw(hnp.arrays(np.float32, (steps, dim), elements=FINITE))


@st.composite
def clips(draw, clip_id, dims, task, *, has_words=False):
    present = draw(st.sets(st.sampled_from(sorted(dims)), min_size=1))
    values = {m: draw(sequences(dim)) if m in present else None for m, dim in dims.items()}
    if isinstance(task, Classification):
        label = draw(st.integers(0, len(task.classes) - 1))
    else:
        label = draw(st.floats(-3, 3, width=32))
    words = times = None
    if has_words and draw(st.booleans()):
        words = draw(st.lists(NAMES, max_size=4))
        times = np.arange(2.0 * len(words)).reshape(-1, 2) / 3
    return Clip(clip_id, label, values, words, times)


@st.composite
def datasets(draw, *, min_clips=1, max_clips=6, split_names=("train", "valid", "test")):
    modalities = draw(
        st.lists(
            st.sampled_from(["text", "vision", "Audio 2", "é"]), min_size=1, max_size=3, unique=True
        )
    )
    dims = {name: draw(st.integers(1, 4)) for name in modalities}
    task = draw(st.sampled_from([Regression(-3, 3), Regression(), Classification(("a", "b", "c"))]))
    has_words = draw(st.booleans())
    splits: dict[str, Split] = {}
    for name in draw(st.lists(st.sampled_from(split_names), min_size=1, unique=True)):
        count = draw(st.integers(min_clips, max_clips))
        ids = [f"{draw(NAMES)}.{name}{row}" for row in range(count)]
        rows = [draw(clips(clip_id, dims, task, has_words=has_words)) for clip_id in ids]
        splits[name] = Split.from_clips(rows, modalities, task)
    return Dataset(task, dims, splits)


def assert_same_clip(first: Clip, second: Clip) -> None:
    assert first.id == second.id
    assert first.label == second.label
    assert list(first.sequences) == list(second.sequences)
    for name, steps in first.sequences.items():
        other = second.sequences[name]
        assert (steps is None) == (other is None)
        if steps is not None:
            assert steps.dtype == other.dtype == np.float32
            assert steps.shape == other.shape
            assert steps.tobytes() == other.tobytes()
    assert (first.words is None) == (second.words is None)
    assert first.words is None or list(first.words) == list(second.words)
    assert (first.times is None) == (second.times is None)
    assert first.times is None or np.array_equal(first.times, second.times)


def assert_same_dataset(first: Dataset, second: Dataset) -> None:
    assert first.task == second.task
    assert dict(first.dims) == dict(second.dims)
    assert set(first.splits) == set(second.splits)
    for name in first.splits:
        assert len(first[name]) == len(second[name])
        for one, other in zip(first[name], second[name], strict=True):
            assert_same_clip(one, other)


def small_dataset(**changes) -> Dataset:
    """Three splits, two modalities, some sequences missing."""
    random = np.random.default_rng(0)
    task = changes.pop("task", Regression(-3, 3))
    splits = {}
    for name, count in (("train", 6), ("valid", 3), ("test", 3)):
        rows = []
        for number in range(count):
            steps = {
                "text": random.standard_normal((2 + number, 4)).astype(np.float32),
                "audio": None if number == 1 else random.standard_normal((3, 2)).astype(np.float32),
            }
            rows.append(Clip(f"{name}{number}", number % 3 - 1.0, steps))
        splits[name] = Split.from_clips(rows, ["text", "audio"], task)
    return Dataset(task, {"text": 4, "audio": 2}, splits | changes)
