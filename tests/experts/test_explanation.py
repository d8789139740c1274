"""An answer taken apart by modality."""

import pytest

from mmalign.data.split import Split
from mmalign.experts import Experts
from mmalign.experts.explanation import explain_clip
from tests.experts.made import NAMES, TASK, made_clips, only


@pytest.mark.parametrize("numbers", [False, True])
def test_an_explanation_is_what_the_model_says_of_parts(numbers):
    model = Experts(epochs=1).fit(made_clips(15, seed=0, numbers=numbers))
    (clip,) = made_clips(1, seed=1, numbers=numbers)
    split = Split.from_clips([clip], list(NAMES), model.fitted_task)
    found = explain_clip(model, split)
    for name in NAMES:
        rest = [other for other in NAMES if other != name]
        for answer, part in ((found.alone[name], [name]), (found.without[name], rest)):
            said = model.predict(only([clip], *part))[0]
            assert answer.label == (f"{said:.3f}" if numbers else TASK.classes[said])
    total = model.evidence(split)[0]
    parts = sum(share.evidence for share in found.shares)
    if numbers:
        assert parts + model.fitted.prior[0] == pytest.approx(total[0], abs=1e-5)
        assert str(found.answer) == found.answer.label
        return
    said = int(model.predict(split)[0])
    assert parts == pytest.approx(total[said] - total.mean(), abs=1e-5)
    assert found.answer.value == found.answer.share
    assert found.answer.share == pytest.approx(model.predict_proba(split)[0, said])
    assert explain_clip(model, split.only(["pose"])).without == {}
