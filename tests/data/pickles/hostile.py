"""Read hostile files under an audit hook: `hostile.py FOLDER [all]`.

Writes more than 600 hostile pickles and archives into the folder, more than 3,000 if all are
wanted, reads each, and prints what happened as JSON. The hook sees every import, call of the
system, execution, socket and file that is opened for writing, whoever asks for it.
"""

import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

from mmalign.data import open_dataset
from mmalign.data.readers.vectors import load_vectors
from mmalign.errors import DataError

FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.kill"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.putenv", "os.link"),
    *("subprocess.Popen", "pty.spawn", "exec", "compile", "code.__new__", "import"),
    *("pickle.find_class", "marshal.loads", "marshal.load", "ctypes.dlopen", "ctypes.dlsym"),
    *("socket.__new__", "socket.connect", "socket.bind", "urllib.Request", "webbrowser.open"),
    *("shutil.rmtree", "shutil.copyfile", "shutil.move", "tempfile.mkstemp", "tempfile.mkdtemp"),
    *("builtins.input", "sys.settrace", "sys.setprofile"),
)

GADGETS = (
    *("os system", "posix system", "nt system", "os popen", "os execv", "os _exit", "os remove"),
    *("subprocess Popen", "subprocess check_output", "subprocess call", "commands getoutput"),
    *("builtins eval", "builtins exec", "builtins compile", "builtins __import__"),
    *("builtins getattr", "builtins setattr", "builtins open", "builtins globals", "builtins map"),
    *("builtins type", "builtins object", "builtins memoryview", "builtins print"),
    *("__builtin__ eval", "__builtin__ execfile", "__builtin__ apply", "__builtin__ file"),
    *(
        "operator attrgetter",
        "operator methodcaller",
        "operator itemgetter",
        "_operator attrgetter",
    ),
    *("functools partial", "functools reduce", "_functools partial", "itertools starmap"),
    *("importlib import_module", "importlib.util spec_from_file_location", "imp load_source"),
    *("codecs decode", "codecs open", "_codecs decode", "codecs encode", "zlib decompress"),
    *("pickle loads", "_pickle loads", "pickle Unpickler", "cPickle loads", "dill loads"),
    *("joblib load", "shelve open", "marshal loads", "types FunctionType", "types CodeType"),
    *("ctypes CDLL", "ctypes WinDLL", "_ctypes dlopen", "socket socket", "urllib.request urlopen"),
    *("webbrowser open", "pty spawn", "code interact", "runpy run_path", "runpy _run_code"),
    *("timeit timeit", "pdb run", "cProfile run", "profile run", "trace Trace", "bdb Bdb"),
    *("numpy.testing._private.utils runstring", "numpy.testing runstring", "numpy load"),
    *("numpy.f2py.crackfortran myeval", "numpy.distutils.exec_command exec_command"),
    *("numpy fromfile", "numpy memmap", "numpy save", "numpy.lib.npyio NpzFile", "numpy ndarray"),
    *("numpy.core.multiarray fromfile", "numpy._core.multiarray frombuffer", "numpy vectorize"),
    *("torch load", "torch.storage _load_from_bytes", "torch._utils _rebuild_tensor_v2"),
    *("torch.jit load", "pandas read_pickle", "pandas.core.computation.eval eval"),
    *(
        "pathlib PosixPath",
        "shutil rmtree",
        "tempfile mktemp",
        "multiprocessing.util spawnv_passfds",
    ),
    *(
        "copyreg _reconstructor",
        "copyreg __newobj__",
        "copy_reg _reconstructor",
        "copyreg add_extension",
    ),
    *(
        "logging.config dictConfig",
        "sys exit",
        "signal raise_signal",
        "asyncio run",
        "threading Thread",
    ),
    *("create_dataset return_unk", "__main__ main", "mmalign.files write_atomically"),
)

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

COMMAND = "touch MARKER"


def short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def streams(module: str, name: str) -> dict[str, bytes]:
    """The same call in every way that protocols 0 to 5 know."""
    line = f"c{module}\n{name}\n".encode()
    text = f"S'{COMMAND}'\n".encode()
    binary = b"X" + struct.pack("<I", len(COMMAND)) + COMMAND.encode()
    stacked = short(module) + short(name) + b"\x93"
    return {
        "protocol 0": line + b"(" + text + b"tR.",
        "protocol 1": line + b"(" + binary + b"tR.",
        "protocol 2": b"\x80\x02" + line + binary + b"\x85R.",
        "protocol 2 new object": b"\x80\x02" + line + binary + b"\x85\x81.",
        "protocol 3": b"\x80\x03" + line + binary + b"\x85R.",
        "protocol 4": b"\x80\x04" + stacked + short(COMMAND) + b"\x85R.",
        "protocol 4 new object": b"\x80\x04" + stacked + short(COMMAND) + b"\x85}\x92.",
        "protocol 5": b"\x80\x05" + stacked + short(COMMAND) + b"\x85R.",
        "instance": b"(" + text + f"i{module}\n{name}\n".encode() + b".",
        "object": b"(" + line + text + b"o.",
        "state": line + b")R}" + text + b"Nsb.",
        "state of a name": line + b"}" + text + b"Nsb.",
    }


class Call:
    """An honest pickler's way to a dishonest pickle."""

    def __init__(self, function, *arguments) -> None:
        self.answer = (function, arguments)

    def __reduce__(self):
        return self.answer

    def __call__(self) -> None:
        """Only so that the pickler takes it for a function."""


def nested() -> dict[str, bytes]:
    """Calls hidden inside a layout that we do read, in real pickles of every protocol."""
    files = {}
    array = np.zeros((2, 3), np.float32)
    calls = {
        "system": Call(os.system, COMMAND),
        "eval": Call(eval, f"__import__('os').system({COMMAND!r})"),
        "exec": Call(exec, f"import os; os.system({COMMAND!r})"),
        "popen": Call(subprocess.Popen, COMMAND.split()),
        "getattr": Call(getattr, Call(__import__, "os"), "system"),
        "chain": Call(Call(getattr, Call(__import__, "os"), "system"), COMMAND),
        "loads": Call(pickle.loads, pickle.dumps(Call(os.system, COMMAND))),
    }
    for protocol in range(6):
        for name, call in calls.items():
            row = ((np.arange(2), array, call, ["a", "b"]), np.zeros((1, 1)), "v[0]")
            value = [((np.arange(2), array, array, ["a", "b"]), np.zeros((1, 1)), "v[1]"), row]
            files[f"nested {name} {protocol}"] = pickle.dumps(value, protocol)
            content = {"text": array[None], "labels": call, "id": ["a"]}
            files[f"split {name} {protocol}"] = pickle.dumps({"train": content}, protocol)
    return files


def bombs() -> dict[str, bytes]:
    """A few bytes that ask for gigabytes, or for hours."""
    gigabytes = 1 << 34
    dtype = b"cnumpy\ndtype\n(S'f8'\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
    doubling = b"](" + b"2" * 30 + b"l" + b"(22t" * 60 + b"."
    laughs = b"\x80\x04]\x94K\x00a" + b"".join(
        b"]\x94(" + b"h" + bytes([n]) + (b"h" + bytes([n])) * 9 + b"e" for n in range(60)
    )
    copies = (
        b"\x80\x04]("
        + b"N" * 50_000
        + b"e\x94"
        + (b"\x8c\x08builtins\x8c\x04list\x93h\x00\x85R" * 20_000)
    )
    text = b"X" + struct.pack("<I", 200_000) + b"a" * 200_000 + b"q\x00"
    encodes = b"\x80\x02" + text + b"c_codecs\nencode\nq\x010" + b"h\x01h\x00\x85R" * 20_000
    rows = b"".join(b"h\x00" for _ in range(100_000))
    return {
        "bytes of 16 GiB": b"\x80\x04\x8e" + struct.pack("<Q", gigabytes) + b"a.",
        "text of 16 GiB": b"\x80\x04\x8d" + struct.pack("<Q", gigabytes) + b"a.",
        "bytearray of 16 GiB": b"\x80\x05\x96" + struct.pack("<Q", gigabytes) + b"a.",
        "frame of 16 GiB": b"\x80\x04\x95" + struct.pack("<Q", gigabytes) + b"N.",
        "long of 2 GiB": b"\x80\x02\x8b" + struct.pack("<I", 2**31 - 1) + b"\x01.",
        "memo at 2**31": b"\x80\x02Nr" + struct.pack("<I", 2**31) + b".",
        "memo at 2**32": b"\x80\x02Nr" + b"\xff" * 4 + b"0j" + b"\xff" * 4 + b".",
        "bytearray call": b"cbuiltins\nbytearray\n(I17179869184\ntR.",
        "list of a range": b"cbuiltins\nlist\n(cbuiltins\nrange\n(I17179869184\ntRtR.",
        "array of 2**40": array + b"(I1\n(I1099511627776\nt" + dtype + b"I00\nS'a'\ntb.",
        "arrays in arrays": deep(array, b"(", b"l"),
        "arrays in lists": deep(array, b"((", b"ll"),
        "arrays in tuples": deep(array, b"((", b"tl"),
        "arrays in dicts": deep(array, b"((I1\n", b"dl"),
        "array of nothing": array + b"(I1\n(I0\nI140737488355327\nt" + dtype + b"I00\nS''\ntb.",
        "dtype of 1 TB": b"cnumpy\ndtype\n(S'S999999999999'\ntR.",
        "doubling tuples": doubling,
        "billion laughs": laughs + b".",
        "laughs as a label": laughs + b"\x85.",
        "copies of a list": copies + b".",
        "copies of a text": encodes + b".",
        "sets": b"\x80\x04" + b"\x8f" * 1_000_000 + b".",
        "marks": b"(" * 1_000_000 + b".",
        "lists in lists": b"]" * 1_000_000 + b"a" * 999_999 + b".",
        "references": b"\x80\x02]q\x00(" + rows + b"e.",
        "digits": b"I" + b"9" * 1_000_000 + b"\n.",
        "laughs as an encoding": laughs + b"q\xf0c_codecs\nencode\n(X\x01\x00\x00\x00ah\xf0tR.",
        "laughs as a shape": laughs + b"q\xf0" + array + b"(I1\nh\xf0" + dtype + b"I00\nS''\ntb.",
    }


def repetitions() -> dict[str, bytes]:
    """Much memory or time from a little that is asked for over and over."""
    emoji = ("\U0001f600" * 100_000).encode("utf-32-le")
    wide = b"cnumpy\ndtype\n(S'U100000'\ntR(I3\nS'<'\nNNNI400000\nI4\nI8\ntbq\x02"
    scalar = b"cnumpy.core.multiarray\nscalar\nq\x00B" + struct.pack("<I", len(emoji)) + emoji
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
    dtype = b"cnumpy\ndtype\n(S'f8'\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
    state = b"(I1\n(I0\nt" + dtype + b"I00\nS''\ntq\x01"
    keys = b"".join(b"r" + struct.pack("<I", n) for n in range(300, 50_000))
    long = b"X" + struct.pack("<I", 500_000) + b"a" * 500_000
    return {
        "text scalars": b"\x80\x03"
        + scalar
        + b"q\x01"
        + wide
        + b"h\x00h\x02h\x01\x86R" * 5000
        + b".",
        "texts of Python 2": b"\x80\x02(" + b"U\x00" * 400_000 + b"l.",
        "dtypes": b"\x80\x02cnumpy\ndtype\nq\x00U\x02f8\x85q\x01" + b"h\x00h\x01R" * 100_000 + b".",
        "keys": b"\x80\x02}("
        + b"".join(b"J" + struct.pack("<i", n) + b"N" for n in range(130_000))
        + b"u.",
        "arrays built again": b"\x80\x02"
        + state
        + array
        + b"q\x00"
        + keys
        + b"("
        + b"h\x00h\x01b" * 50_000
        + b".",
        "equal keys": b"\x80\x02"
        + long
        + b"q\x00"
        + long
        + b"q\x01}"
        + b"h\x00Nsh\x01Ns" * 60_000
        + b".",
    }


def deep(array: bytes, opening: bytes, closing: bytes, levels: int = 20_000) -> bytes:
    """Arrays of objects inside each other, which numpy frees by recursion."""
    dtype = b"cnumpy\ndtype\n(S'O8'\ntR(I3\nS'|'\nNNNI-1\nI-1\nI63\ntbp1\n0"
    head = array + b"(I1\n(I1\ntg1\nI00\n" + opening
    return dtype + head * levels + b"N" + (closing + b"tb") * levels + b"."


def shared_arrays() -> bytes:
    """Rows that are 100 bytes each and all refer to one array of half a megabyte."""
    array = np.zeros((1000, 125), np.float32)
    label = np.zeros((1, 1))
    return pickle.dumps(
        [((np.arange(1), array, array, ["a"]), label, f"v[{n}]") for n in range(5_000)]
    )


def archives() -> dict[str, bytes]:
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"
    huge = header + text.ljust(117) + b"\n"
    evil = (
        b"{'descr': __import__('os').system('touch MARKER'), 'fortran_order': False, 'shape': ()}"
    )
    files = {
        "npz of 8 TB": {"x.npy": huge},
        "npz with code": {"x.npy": header + evil.ljust(117) + b"\n"},
        "npz with a pickle": {"x.npy": _saved(np.array([Call(os.system, COMMAND)], object))},
        "torch with code": {
            "a/data.pkl": pickle.dumps(Call(os.system, COMMAND), 2),
            "a/version": b"3",
        },
        "zip of zeros": {"x.npy": bytes(150_000_000)},
    }
    packed = {}
    for name, entries in files.items():
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, content in entries.items():
                archive.writestr(entry, content)
        packed[name] = stream.getvalue()
    return packed


def _saved(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def wrapped(stream: bytes) -> dict[str, bytes]:
    """The call as the whole of a pickle, in a list, and as a split."""
    inner = stream[:-1]
    return {"": stream, "in a list": b"](" + inner + b"e.", "split": b"(S'train'\n" + inner + b"d."}


def write_files(folder: Path, *, all_ways: bool) -> list[Path]:
    contents: dict[str, bytes] = {}
    for number, gadget in enumerate(GADGETS):
        ways = streams(*gadget.split())
        if all_ways:
            ways = {f"{way} {k}": v for way, s in ways.items() for k, v in wrapped(s).items()}
        # Every way for a few gadgets, and for every gadget at least four, the protocols in turn.
        picked = list(ways) if all_ways or number < 10 else list(ways)[number % 3 :: 3]
        contents |= {f"{gadget} {way}": ways[way] for way in picked}
    contents |= nested() | bombs() | repetitions() | archives() | {"shared arrays": shared_arrays()}
    files = []
    for number, (name, content) in enumerate(contents.items()):
        files.append(folder / f"{number:04d} {name}.pkl".replace("/", "-"))
        files[-1].write_bytes(content)
    return files


def rss_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def outcome(read, file: Path) -> str:
    try:
        read(file)
    except DataError as error:
        return "refused" if error.file else f"no file named: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "read"


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = write_files(folder, all_ways=len(sys.argv) > 2)
    honest = folder / "train.pkl"
    array = np.zeros((2, 3), np.float32)
    row = ((np.arange(2), array, array, ["a", "b"]), np.zeros((1, 1)), "v[0]")
    honest.write_bytes(pickle.dumps([row]))
    for read in (open_dataset, lambda file: load_vectors(file, ["a"])):
        for file in (honest, *files[-6:]):  # so that every module we need is imported
            outcome(read, file)
    os.chdir(folder)
    events: list[str] = []

    def hook(event: str, arguments: tuple) -> None:
        if event in FORBIDDEN or (event == "open" and arguments[2] & WRITING):
            events.append(f"{event} {arguments!r}"[:200])

    limit = 2 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = rss_mb()
    sys.addaudithook(hook)
    outcomes = {file.name: outcome(open_dataset, file) for file in files}
    vectors = {file.name: outcome(lambda f: load_vectors(f, ["a"]), file) for file in files}
    seen = list(events)
    events.clear()
    eval("1 + 1")  # the hook must see what it is there to see
    answer = {
        "files": len(files),
        "events": seen[:20],
        "hook_works": bool(events),
        "not_refused": {n: o for n, o in outcomes.items() if o != "refused"},
        "vectors_failed": {n: o for n, o in vectors.items() if o not in ("refused", "read")},
        "marker": (folder / "MARKER").exists(),
        "rss_rise_mb": rss_mb() - before,
        "honest": outcome(open_dataset, honest),
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
