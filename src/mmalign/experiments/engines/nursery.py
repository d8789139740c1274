"""A process that forks workers on demand.

It is forked itself before anything was computed, and computes nothing: so its children start in
milliseconds with torch imported, share its memory, and inherit no thread and no lock of the process
that reads the data. Every child computes on one thread, as PyTorch's own forked data loaders do.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NoReturn

from mmalign.errors import MMAlignError

FORK = "fork"

Serve = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""What a child does with `receive` and `send`."""


class Nursery:
    """Forks children that serve; all of them end with the process that made the nursery."""

    def __init__(self, serve: Serve) -> None:
        self._line, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self._line.close()
            _run(theirs, serve)
        theirs.close()

    def fork(self) -> tuple[int, Connection]:
        """A new child: its process id, and the line to it.

        Raises:
            MMAlignError: If the nursery is gone.
        """
        ours, theirs = Pipe()
        with _alive(), theirs:
            self._line.send(FORK)
            send_handle(self._line, theirs.fileno(), self._pid)
            return int(self._line.recv()), ours

    def bury(self, pid: int) -> int:
        """The exit code of a child that has ended or is about to; a signal is negative.

        Raises:
            MMAlignError: If the nursery is gone.
        """
        with _alive():
            self._line.send(pid)
            return os.waitstatus_to_exitcode(self._line.recv())

    def close(self) -> None:
        """Kill all children at once, and end."""
        self._line.close()
        os.waitpid(self._pid, 0)


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    """Talk to the nursery, which may have been killed."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise MMAlignError(
            "the process that starts workers was killed. Run the same command again to resume."
        ) from error


def _run(line: Connection, serve: Serve) -> NoReturn:
    """Fork when told, until the line breaks."""
    # Ctrl-C reaches every process of the terminal; only the first one shall act on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    children: set[int] = set()
    try:
        with contextlib.suppress(EOFError, OSError):
            while True:
                request = line.recv()
                if request == FORK:
                    children.add(pid := _fork(line, serve))
                    line.send(pid)
                else:
                    children.remove(request)
                    line.send(os.waitpid(request, 0)[1])
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    finally:
        os._exit(0)


def _fork(line: Connection, serve: Serve) -> int:
    handle = recv_handle(line)
    pid = os.fork()
    if pid == 0:
        line.close()
        _live(Connection(handle), serve)
    os.close(handle)
    return pid


def _live(line: Connection, serve: Serve) -> NoReturn:
    """Serve, and end at once when the other end of the line is gone."""
    code = 1
    try:
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(line, inbox), daemon=True).start()
        serve(inbox.get, line.send)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(code)


def _listen(line: Connection, inbox: "queue.SimpleQueue[Any]") -> None:
    """End the process when the line breaks: nursery and engine may both have been killed."""
    try:
        while True:
            inbox.put(line.recv())
    finally:
        os._exit(0)
