"""Run several commands in one process: starting Python and torch once saves a minute of tests."""

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence


def mmalign_many(commands: Sequence[Sequence[object]]) -> list[subprocess.CompletedProcess[str]]:
    """The answers of `mmalign` to each command line, in order."""
    lines = [[str(word) for word in command] for command in commands]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.many"],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [subprocess.CompletedProcess(*answer) for answer in json.loads(done.stdout)]


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


if __name__ == "__main__":
    print(json.dumps([answer(command) for command in json.loads(sys.stdin.read())]))
