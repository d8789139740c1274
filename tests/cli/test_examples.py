"""Every command shows examples of itself that exist."""

import subprocess
import sys

import pytest
import typer

from mmalign.cli.examples import EXAMPLES
from mmalign.cli.main import app
from tests.cli.many import mmalign_many
from tests.docs.test_commands import problems_of
from tests.forked import MMALIGN, Forked

CLI = typer.main.get_command(app)


def commands(group=CLI, path=()):
    yield " ".join(path), group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=lambda value: str(value))
def test_every_command_has_examples_of_itself(path, command):
    lines = EXAMPLES[path]
    assert all(line.startswith(f"mmalign {path}".rstrip()) for line in lines)
    assert [p for line in lines for p in problems_of(line.removeprefix("mmalign "))] == []
    assert all(line in command.epilog for line in lines)


def test_short_options_and_the_module_itself():
    short, long, version = mmalign_many([["predict", "-h"], ["predict", "--help"], ["-V"]])
    assert short.stdout == long.stdout
    assert "Examples:" in short.stdout
    assert version.stdout.startswith("mmalign 0.")
    done = subprocess.run(
        [sys.executable, "-m", "mmalign", "-V"], capture_output=True, text=True, check=False
    )
    assert done.stdout == version.stdout


def test_completion_can_be_shown():
    # Else it looks for a shell among the processes that started it, and tests may have none.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = Forked(MMALIGN, ["--show-completion", "bash"], env=named).done()
    assert done.returncode == 0
    assert "complete" in done.stdout


def test_what_was_probably_meant_is_said(tmp_path):
    (tmp_path / "recordings.csv").write_text("x")
    name, file, command = mmalign_many(
        [
            ["data", "inspect", "smartwach"],
            ["data", "inspect", tmp_path / "recording.csv"],
            ["trian"],
        ]
    )
    assert "Did you mean smartwatch?" in name.stderr
    assert f"Did you mean {tmp_path / 'recordings.csv'}?" in file.stderr
    assert "Did you mean 'train'?" in command.stderr
    assert {name.returncode, file.returncode, command.returncode} == {2}
