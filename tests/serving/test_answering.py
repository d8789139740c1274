"""The service says what `mmalign predict` says, alone or in company."""

import numpy as np
import pytest

import mmalign
from mmalign.serving.answering import Answering
from mmalign.serving.asking import Asked
from mmalign.serving.loading import facts_of


def asked(clips, plans=False):
    return [
        Asked(c.id, {n: s for n, s in c.sequences.items() if s is not None}, plans) for c in clips
    ]


def answering(folder):
    model = mmalign.load(folder)
    return Answering(model, facts_of(model, folder))


@pytest.fixture(params=["experts", "network", "pair"])
def kind(request):
    return request.param


@pytest.fixture
def folder(kind, request):
    return request.getfixturevalue(kind)


@pytest.fixture
def test_clips(kind, request):
    split = request.getfixturevalue(f"{kind}_data")["test"]
    if kind == "pair":
        return split.without("victim", split.ids[::2])
    if kind == "network":
        return split.without("m2", split.ids[::2]).without("m1", split.ids[::3])
    return split


def table_of(folder, split):
    return mmalign.load(folder).table({"test": split}).to_pylist()


def same(answer, row):
    if answer["probabilities"] is None:
        return answer["prediction"] == pytest.approx(row["prediction"], abs=1e-5)
    shares = {name: row[f"probability/{name}"] for name in answer["probabilities"]}
    return answer["prediction"] == row["prediction"] and answer["probabilities"] == pytest.approx(
        shares, abs=1e-5
    )


def test_answers_are_those_of_predict_alone_and_together(folder, test_clips):
    answer = answering(folder)
    clips, rows = asked(test_clips), table_of(folder, test_clips)
    together = answer(clips)
    alone = [answer([clip])[0] for clip in clips]
    for row, one, many in zip(rows, alone, together, strict=True):
        assert one["id"] == many["id"] == row["id"]
        assert same(one, row)
        assert same(many, row)


def test_what_was_there_is_told(folder, test_clips):
    facts = answering(folder).facts
    for clip, answer in zip(asked(test_clips), answering(folder)(asked(test_clips)), strict=True):
        assert answer["used"] == [name for name in facts.dims if name in clip.sequences]
        assert sorted(answer["used"] + answer["missing"]) == sorted(facts.dims)
        assert answer["imputed"] == [n for n in answer["missing"] if n in facts.imputes]
    everything = {"experts": set(), "network": {"m1", "m2", "m3"}, "pair": {"victim"}}
    assert set(facts.imputes) == everything[facts.kind]


def test_gaps_are_answered_as_by_the_model(experts, experts_data):
    clip = experts_data["valid"].select([0])
    steps = clip.sequences["pose"][0].copy()
    steps[3:7] = np.nan
    gapped = mmalign.Clip(
        "x", None, {"pose": np.nan_to_num(steps)}, observed={"pose": ~np.isnan(steps[:, 0])}
    )
    (answer,) = answering(experts)([Asked("x", {"pose": steps})])
    expected = mmalign.load(experts).predict_proba(gapped)[0]
    assert list(answer["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
    assert answer["gaps"] == {"pose": 4}


def test_plans_are_solved_where_the_target_is_there_and_guessed_elsewhere(pair, pair_data):
    split = pair_data["test"].select([0, 1])
    split = split.without("victim", split.ids[:1])
    guessed, solved = answering(pair)(asked(split, plans=True))
    for answer, is_predicted in ((guessed, True), (solved, False)):
        (plan,) = answer["plans"]
        assert (plan["source"], plan["target"]) == ("visible", "victim")
        assert plan["is_predicted"] is is_predicted
        row = 0 if is_predicted else 1
        expected = mmalign.load(pair).align(split.select([row]))[0]
        np.testing.assert_allclose(plan["mass"], expected, atol=1e-5)


def test_experts_have_no_plans(experts, experts_data):
    (answer,) = answering(experts)(asked(experts_data["valid"].select([0]), plans=True))
    assert answer["plans"] == []
