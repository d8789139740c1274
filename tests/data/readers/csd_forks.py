"""Fork the worker of .csd files off a small process that has imported h5py: `csd_forks.py WORKER`.

A line of standard input holds the worker's arguments as JSON, a line of standard output its exit
code and what it told. A new Python takes 300 ms and a fork of one that has imported torch 50; this
takes 5, and stays as small as the real worker, whose address space is limited.
"""

import importlib.util
import json
import os
import signal
import sys

import h5py  # noqa: F401 - so that forks have it


def main() -> None:
    spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    for line in sys.stdin:
        arguments = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            signal.alarm(int(arguments[3]))
            code = worker.main(arguments)
            sys.stdout.flush()
            os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            told = stream.read().decode(errors="replace")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, told]), flush=True)


if __name__ == "__main__":
    main()
