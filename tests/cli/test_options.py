"""What several commands read from their options."""

import pytest

from mmalign.cli.bench import bench
from mmalign.cli.options import choose_settings, make_engine, parse_seeds
from mmalign.cli.train import train
from mmalign.errors import ConfigError


def test_seeds_are_a_number_a_range_or_a_list():
    assert parse_seeds("5") == [0, 1, 2, 3, 4]
    assert parse_seeds("0-2") == [0, 1, 2]
    assert parse_seeds("0,3, 7") == [0, 3, 7]
    assert parse_seeds("7-7") == [7]
    assert parse_seeds("0-1,9") == [0, 1, 9]


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1-x", "1.5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ConfigError, match="a range \\(0-4\\) or a list"):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["0", "", ",", "4-2"])
def test_no_seeds_are_refused(text):
    with pytest.raises(ConfigError, match="at least one seed"):
        parse_seeds(text)


def test_settings_come_from_the_file_and_then_from_set(tmp_path):
    (tmp_path / "mine.toml").write_text('window = 3\nmethod = "mfm"\nseed = 2\n')
    chosen = choose_settings(train, tmp_path / "mine.toml", ["window=4", "epsilon=0.5"])
    assert chosen == {"window": 4, "method": "mfm", "seed": 2, "epsilon": 0.5}


def test_dots_lead_into_tables_and_both_sources_add_up(tmp_path):
    (tmp_path / "mine.toml").write_text("[senses.wrist]\ncentre = true\nmotion = true\n")
    pairs = ["senses.wrist.centre=false", "senses.pose.smooth=true", "epochs=2"]
    assert choose_settings(train, tmp_path / "mine.toml", pairs) == {
        "senses": {"wrist": {"centre": False, "motion": True}, "pose": {"smooth": True}},
        "epochs": 2,
    }


@pytest.mark.parametrize(
    ("command", "line", "message"),
    [
        (train, "threads = 2", "threads is a flag, not a setting; give --threads"),
        (train, 'non-finite = "zero"', "non-finite is a flag, not a setting; give --non-finite"),
        (train, "settings = 1", "settings is a flag, not a setting; give --set"),
        (bench, "seeds = 5", "seeds is a flag, not a setting; give --seeds"),
        (bench, "only_list = true", "only_list is a flag, not a setting; give --list"),
    ],
)
def test_flags_of_the_command_are_no_settings(tmp_path, command, line, message):
    (tmp_path / "mine.toml").write_text(line + "\n")
    with pytest.raises(ConfigError, match=message):
        choose_settings(command, tmp_path / "mine.toml", [])


@pytest.mark.parametrize("name", ["local", "ray"])
def test_an_engine_without_jobs_is_refused(name):
    with pytest.raises(ConfigError, match="jobs must be >= 1, got 0"):
        make_engine(name, 0, None)
