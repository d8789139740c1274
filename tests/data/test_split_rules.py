"""Rules that deal clips into splits."""

import pytest

from mmalign.data.split_rules import SplitRule, deal
from mmalign.errors import ConfigError, DataError
from tests.training.small import small_dataset

IDS = {
    "train": ["ann[0]", "ann[1]", "bob[0]", "cid[0]", "cid[1]"],
    "valid": ["dan[0]", "eve[0]"],
}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (SplitRule(match=r"\[1\]$"), {"ann[1]", "cid[1]"}),
        (SplitRule(split="valid"), {"dan[0]", "eve[0]"}),
        (SplitRule(split="train", group=r"^(.+)\[", last=1), {"cid[0]", "cid[1]"}),
        (SplitRule(group=r"^(.+)\[", last=2), {"dan[0]", "eve[0]"}),
        (SplitRule(match="0", group=r"^(.+)\[", last=3), {"cid[0]", "dan[0]", "eve[0]"}),
    ],
)
def test_a_rule_takes_what_it_says(rule, expected):
    assert rule.chosen(IDS) == expected


def test_the_first_rule_that_takes_a_clip_names_its_split():
    dataset = small_dataset()
    first = dataset["train"].ids[0]
    rules = {
        "test": SplitRule(split="test"),
        "valid": SplitRule(match=f"^({first}|{dataset['test'].ids[0]})$"),
    }
    dealt = deal(dataset, rules)
    assert dealt["test"].ids == dataset["test"].ids
    assert dealt["valid"].ids == (first,)
    assert set(dealt["train"].ids) == {*dataset["train"].ids[1:], *dataset["valid"].ids}


def test_rules_that_take_nothing_or_make_no_sense_are_refused():
    with pytest.raises(DataError, match="no clip is left for this split") as found:
        deal(small_dataset(), {"test": SplitRule(match="nobody")})
    assert "Ids look like" in str(found.value)
    with pytest.raises(DataError, match="finds nothing in the id"):
        deal(small_dataset(), {"test": SplitRule(group="^(x+)", last=1)})
    with pytest.raises(ConfigError, match="is not a regular expression"):
        SplitRule(match="(")
    with pytest.raises(ConfigError, match="group and last go together"):
        SplitRule(last=3)
