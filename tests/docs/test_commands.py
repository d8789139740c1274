"""Every command that the pages show exists, with the options they give it."""

import re

import pytest
import typer

from mmalign.cli.main import app
from tests.docs.pages import PAGES, commands

CLI = typer.main.get_command(app)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_exists_with_its_options(page):
    problems = [problem for text in commands(page) for problem in problems_of(text)]
    assert not problems, f"{page.name}: {problems}"


def test_commands_are_found_and_missed():
    assert problems_of("bench STUDY.toml --out DIR [--root DIR]\n    --jobs 2  # --why") == []
    assert problems_of("bend DATA") == ["mmalign bend"]
    assert problems_of("data inspect PATH --jsn") == ["mmalign data inspect --jsn"]
    assert sum(len(list(commands(page))) for page in PAGES) > 30


def problems_of(text: str) -> list[str]:
    """What the command line does not know of `mmalign TEXT`."""
    text = re.sub(r"\s# .*", "", text)
    command, path = CLI, ["mmalign"]
    for word in text.split():
        if not hasattr(command, "commands"):
            break
        path.append(word)
        if word not in command.commands:
            return [" ".join(path)]
        command = command.commands[word]
    known = {option for parameter in command.params for option in parameter.opts}
    given = re.findall(r"(?<![\w-])--[a-z-]+", text)
    return [f"{' '.join(path)} {option}" for option in given if option not in known]
