"""Python programs in processes forked off one that has imported all that is large.

A new interpreter takes three seconds of a core to import torch and mmalign, and one more to load
compiled kernels; a fork takes none. The process that forks has one thread, and knows nothing of
pytest. Tests of how a program starts must not use it.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

MMALIGN = "from mmalign.cli.main import main; main()"
LARGE = (
    *("torch", "numba", "scipy.stats", "scipy.optimize", "pyarrow.parquet", "rich.progress"),
    *("pandas", "typer._adapters", "typer.rich_utils", "matplotlib.figure", "optuna"),
    *("mmalign", "mmalign.cli.main", "mmalign.cli.bench", "mmalign.cli.train", "mmalign.cli.tune"),
    *("mmalign.runs.run", "mmalign.experiments.running", "mmalign.experiments.engines.local"),
    *("mmalign.experts.compile", "mmalign.experiments.report.writing"),
)


class Forked:
    """A process that runs a text of Python.

    Args:
        code: The text.
        words: What stands in `sys.argv` after the program's name.
        err: Where standard error goes, e.g. a terminal; a file of its own by default.
        leads: Whether the process leads a session, so that a whole group can be signalled.
        file_bytes: The size beyond which it cannot write a file; 0 for any.
        env: What differs in its environment.
    """

    def __init__(
        self,
        code: str,
        words: Iterable[object] = (),
        *,
        err: str | Path | None = None,
        leads: bool = False,
        file_bytes: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._room = tempfile.TemporaryDirectory(prefix="forked-")  # goes when this object goes
        folder = Path(self._room.name)
        self.words = [str(word) for word in words]
        self.out, self.err = folder / "out", Path(err or folder / "err")
        places = {"out": str(self.out), "err": str(self.err)}
        options = {"leads": leads, "file_bytes": file_bytes, "env": {**os.environ, **(env or {})}}
        self.pid: int = _asked({"code": code, "words": self.words, **places, **options})

    def poll(self, seconds: float = 0.0) -> int | None:
        """The exit code, negative for a signal; None if the process has not ended in that time."""
        code: int | None = _asked({"pid": self.pid, "seconds": seconds})
        return code

    def wait(self, seconds: float = 1800.0) -> int:
        """The exit code, for which it takes at most so long."""
        code = self.poll(seconds)
        assert code is not None, f"still running after {seconds} s: {self.words}"
        return code

    def done(self, seconds: float = 1800.0) -> subprocess.CompletedProcess[str]:
        """What the process said, when it has ended."""
        code = self.wait(seconds)
        return subprocess.CompletedProcess(
            self.words, code, self.out.read_text(), self.err.read_text()
        )


def run_module(
    name: str, *words: object, seconds: float = 1800.0
) -> subprocess.CompletedProcess[str]:
    """What `python -m NAME WORDS…` says."""
    code = f"import runpy; runpy.run_module({name!r}, run_name='__main__')"
    return Forked(code, words).done(seconds)


def _asked(request: dict[str, Any]) -> Any:
    process = _forking()
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@cache
def _forking() -> subprocess.Popen:
    """The process that forks, one for each process of the tests."""
    command = [sys.executable, "-m", "tests.forked"]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen) -> None:
    """Wait for it, so that its time and that of its children count as ours."""
    process.stdin.close()
    process.wait(60)


def main() -> None:
    """Fork when told, and wait when told."""
    for name in LARGE:
        with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
            importlib.import_module(name)
    sys.modules["mmalign.experts.compile"].compile_kernels()
    gc.freeze()  # a fork that looks for garbage would copy all that is shared
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    codes: dict[int, int] = {}
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "pid" in request:
            answer = _waited(codes, **request)
        else:
            answer = os.fork()
            if answer == 0:
                _become(**request)
        print(json.dumps(answer), file=answers, flush=True)


def _waited(codes: dict[int, int], pid: int, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while pid not in codes:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            codes[pid] = os.waitstatus_to_exitcode(status)
        elif time.monotonic() >= deadline:
            return None
        else:
            time.sleep(0.005)
    return codes[pid]


def _become(
    code: str,
    words: list[str],
    out: str,
    err: str,
    leads: bool,
    file_bytes: int,
    env: dict[str, str],
) -> NoReturn:
    """Be the program."""
    import resource

    if leads:
        os.setsid()
    for path, number in ((os.devnull, 0), (out, 1), (err, 2)):
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOCTTY
        os.dup2(os.open(path, flags, 0o600), number)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  the old ones knew other files
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    if file_bytes:
        # Python 3.11 keeps half-written bytecode: every later import of the module would fail.
        sys.dont_write_bytecode = True
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["mmalign", *words]
    _leave(_executed(code))


def _executed(code: str) -> int:
    """The exit code of the program, whose error is printed as Python does."""
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _leave(code: int) -> NoReturn:
    """End as Python does, but without taking apart, and thereby copying, all that is shared."""
    threading._shutdown()  # waits for threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
