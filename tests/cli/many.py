"""Run commands in one process that stays: starting Python and torch once saves a minute."""

import atexit
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from tests.forked import MMALIGN, Forked


def mmalign_many(commands: Sequence[Sequence[object]]) -> list[subprocess.CompletedProcess[str]]:
    """The answers of `mmalign` to each command line, in order."""
    lines = [[str(word) for word in command] for command in commands]
    process = answering()
    process.stdin.write(json.dumps(lines) + "\n")
    process.stdin.flush()
    answers = process.stdout.readline()
    assert answers, "the process that answers has died"
    return [subprocess.CompletedProcess(*answer) for answer in json.loads(answers)]


def mmalign_alone(*words: object) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, as those that fork workers want it."""
    return Forked(MMALIGN, words).done()


@cache
def answering() -> subprocess.Popen:
    """The process that answers, one for each process of the tests."""
    command = [sys.executable, "-m", "tests.cli.many"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process


def answer(command: list[str]) -> tuple[list[str], int, str, str]:
    """One command, in this process."""
    from mmalign.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["mmalign", *command]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return command, code, out.getvalue(), err.getvalue()


def main() -> None:
    # What a command's own processes print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(
            json.dumps([answer(command) for command in json.loads(line)]), file=answers, flush=True
        )


if __name__ == "__main__":
    main()
