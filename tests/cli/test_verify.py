"""`mmalign data verify`."""

import pytest
import typer
from typer.testing import CliRunner

from mmalign.cli.verify import verify
from tests.data.readers.conftest import write_mmsa_unaligned, write_npz_flat


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(verify)
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def test_a_sound_file_of_ones_own_is_fine(tmp_path, run):
    result = run(write_npz_flat(tmp_path), "--label", "action")
    assert result.exit_code == 0
    assert "no published set" in result.output


def test_what_is_off_makes_the_exit_code(tmp_path, run):
    result = run(write_mmsa_unaligned(tmp_path))
    assert result.exit_code == 1
    assert "OFF" in result.output
