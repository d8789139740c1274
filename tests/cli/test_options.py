"""What several commands read from their options."""

import pytest

from mmalign.cli.options import parse_seeds
from mmalign.errors import ConfigError


def test_seeds_are_a_number_a_range_or_a_list():
    assert parse_seeds("5") == [0, 1, 2, 3, 4]
    assert parse_seeds("0-2") == [0, 1, 2]
    assert parse_seeds("0,3, 7") == [0, 3, 7]
    assert parse_seeds("7-7") == [7]
    assert parse_seeds("0-1,9") == [0, 1, 9]


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1-x", "1.5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ConfigError, match="none of 5, 0-4 and 0,3,7"):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["0", "", ",", "4-2"])
def test_no_seeds_are_refused(text):
    with pytest.raises(ConfigError, match="leaves none"):
        parse_seeds(text)
