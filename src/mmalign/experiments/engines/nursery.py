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
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NoReturn

FORK = "fork"

Serve = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""What a child does with `receive` and `send`."""


class Nursery:
    """Forks children that serve; all of them end when the process that made the nursery ends."""

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
        """A new child: its process id, and the line to it."""
        ours, theirs = Pipe()
        self._line.send(FORK)
        send_handle(self._line, theirs.fileno(), self._pid)
        theirs.close()
        return int(self._line.recv()), ours

    def bury(self, pid: int) -> int:
        """The exit code of a child that has ended or is about to; a signal is negative."""
        self._line.send(pid)
        return os.waitstatus_to_exitcode(self._line.recv())

    def close(self) -> None:
        """End the nursery, after its children; the lines to them must be closed."""
        self._line.close()
        os.waitpid(self._pid, 0)


def _run(line: Connection, serve: Serve) -> NoReturn:
    """The nursery's life: fork when told, until the line breaks."""
    # Ctrl-C reaches every process of the terminal; only the first one shall act on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with contextlib.suppress(EOFError, OSError):
            while True:
                request = line.recv()
                line.send(_fork(line, serve) if request == FORK else os.waitpid(request, 0)[1])
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
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
    """A child's life: serve, and end at once when the other end of the line is gone."""
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
    """Ends the process when the line breaks, as it does when the other end is killed."""
    try:
        while True:
            inbox.put(line.recv())
    finally:
        os._exit(0)
