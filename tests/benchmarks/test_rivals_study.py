"""The study of rivals tells wins from losses, and docs/experts.md says what it found."""

from importlib import import_module

import numpy as np
import pytest

from mmalign.data.clip import Clip
from tests.docs.pages import ROOT

BENCHMARKS = ROOT / "benchmarks"
NUMBERS = ("none", "one", "two", "three", "four")


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)  # scripts, which import the files beside them
    return {name: import_module(name) for name in ("rivals", "rival_classifiers", "study_rows")}


def test_the_page_has_every_line_of_the_tables(scripts):
    page = (ROOT / "docs" / "experts.md").read_text(encoding="utf-8").splitlines()
    rivals, rows = scripts["rivals"], published(scripts)
    lines = [*rivals.tables(rows), *rivals.summary_lines(rows)]
    assert not [line for line in lines if line not in page]


def test_page_and_readme_count_what_the_table_shows(scripts):
    found = scripts["rivals"].verdicts(published(scripts)).values()
    ahead, cells = (sum(c["clearly better"] for c in found), sum(sum(c.values()) for c in found))
    behind = NUMBERS[sum(c["clearly worse"] for c in found)]
    for page in (ROOT / "docs" / "experts.md", ROOT / "README.md"):
        text = page.read_text(encoding="utf-8")
        assert f"clearly ahead in {ahead} of {cells}" in text
        assert f"clearly behind in {behind}" in text


def published(scripts) -> list[dict]:
    rivals = scripts["study_rows"].read_rows(BENCHMARKS / "results" / "rivals.jsonl")
    return scripts["rivals"].published(rivals, BENCHMARKS / "results" / "experts.jsonl")


def rows_of(facts, scores):
    task = {"study": "a study", "fold": 0, "victim": "", "survival": 1}
    for system, found in scores.items():
        for seed, value in enumerate(found):
            row = {"system": system, "scores": {"signal": value}, "seed": seed}
            yield task | row | {"facts": facts if system == "experts" else {}}


@pytest.mark.parametrize(("facts", "is_behind"), [({}, False), ({"ece signal": 0.1}, True)])
def test_only_what_is_clearly_behind_is_bold(scripts, facts, is_behind):
    """With labels that are numbers less is better; rows of classes tell how sure experts are."""
    rows = list(rows_of(facts, {"experts": [3.0, 3.1], "MultiRocket": [5.0, 5.1]}))
    *_, line = scripts["rivals"].tables(rows)
    assert ("**" in line) == is_behind
    sign = "clearly worse" if is_behind else "clearly better"
    assert scripts["rivals"].verdicts(rows)["MultiRocket"] == {sign: 1}


def test_a_seed_without_all_folds_does_not_count(scripts):
    rows = list(rows_of({}, {"experts": [3.0, 3.1], "MultiRocket": [5.0, 5.1]}))
    rows += [
        row | {"fold": 1} for row in rows if (row["system"], row["seed"]) != ("MultiRocket", 1)
    ]
    kept = scripts["rivals"].whole(rows)
    assert {(row["system"], row["seed"]) for row in rows if row not in kept} == {("MultiRocket", 1)}


def clips_of(lengths: list[int]) -> list[Clip]:
    """Slow and fast waves in two channels."""
    return [
        Clip(str(n), ("slow", "fast")[n % 2], {"signal": wave(steps, n)})
        for n, steps in enumerate(lengths)
    ]


def wave(steps: int, n: int) -> np.ndarray:
    time = np.arange(steps)[:, None] * (0.2, 0.9)[n % 2] + n + np.array([0, 1])
    return np.sin(time).astype(np.float32)


@pytest.mark.parametrize("name", ["summary + trees", "summary + ridge"])
def test_summaries_tell_waves_of_unequal_length_apart(scripts, name):
    clips = clips_of([40 + n for n in range(12)])
    answers = scripts["rival_classifiers"].RIVALS[name](clips[:8], clips[8:], ("signal",), 0)
    assert list(answers) == [clip.label for clip in clips[8:]]


def test_a_clip_of_one_step_has_a_finite_summary(scripts):
    short, long = (
        scripts["rival_classifiers"].summary(clip, ("signal",)) for clip in clips_of([1, 50])
    )
    assert short.shape == long.shape
    assert np.isfinite(short).all()


def test_a_ridge_answers_in_fewer_columns_as_in_all(scripts):
    sklearn = pytest.importorskip("sklearn.linear_model")
    chance = np.random.default_rng(0)
    known, asked = chance.normal(3, 1, (30, 500)), chance.normal(3, 1, (9, 500))
    clips = [Clip(str(n), float(row[:9].sum()), {}) for n, row in enumerate(known)]
    study = scripts["rival_classifiers"]
    ridge = sklearn.RidgeCV(study.PENALTIES).fit(known, [clip.label for clip in clips])
    answers = study.ridge_answers((known, asked), clips)
    np.testing.assert_allclose(answers, ridge.predict(asked), rtol=1e-6)


def test_one_kernel_of_a_group_wins_each_step(scripts):
    """Hydra counts, for each group, at how many steps a kernel fits least; of all steps."""
    torch, won = scripts["rival_classifiers"].torch, scripts["rival_classifiers"].won
    kernels = torch.randn(3 * 8, 1, 9, generator=torch.Generator().manual_seed(0))
    clips = torch.randn(4, 3, 40, generator=torch.Generator().manual_seed(1))
    _sums, counts = won(clips, kernels, 2).unflatten(1, (2, 3 * 8)).unbind(1)
    assert (counts.unflatten(1, (3, 8)).sum(dim=2) == 40).all()
