"""What is recorded of the machine."""

import os
import subprocess
import sys
from pathlib import Path

from mmalign.runs import machine
from mmalign.runs.machine import describe_machine
from tests.forked import Forked


def test_a_machine_is_described_the_same_way_twice():
    assert describe_machine() == describe_machine()
    assert describe_machine()["architecture"]


def test_the_processor_s_model_is_read_where_linux_tells_it(tmp_path, monkeypatch):
    facts = tmp_path / "cpuinfo"
    facts.write_text("processor\t: 0\nmodel name\t: Abacus 9 @ 3: wood\n")
    monkeypatch.setattr(machine, "CPU_FACTS", facts)
    assert describe_machine()["processor"] == "Abacus 9 @ 3: wood"
    facts.write_text("CPU implementer\t: 0x41\n")
    assert describe_machine()["processor"] is not None
    monkeypatch.setattr(machine, "CPU_FACTS", tmp_path / "nowhere")
    assert describe_machine()["processor"] is not None


def test_numba_s_absence_is_recorded(monkeypatch):
    assert describe_machine()["numba"] is not None
    monkeypatch.setitem(sys.modules, "numba", None)
    assert describe_machine()["numba"] is None


TRAIN = """
import sys
from pathlib import Path
from mmalign.experts import Experts
from tests.experts.made import made_clips
from tests.training.small import small_run
small_run(Path(sys.argv[1])).execute(lambda *_: None)
Path(sys.argv[1], "experts").write_bytes(Experts(epochs=1).fit(made_clips(12, seed=0)).packed()[0])
"""


def test_hash_seeds_stripped_asserts_and_the_time_zone_change_no_bit(tmp_path):
    odd = {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Chatham", "LC_ALL": "C"}
    command = [sys.executable, "-O", "-c", TRAIN, str(tmp_path / "odd")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2], env=os.environ | odd)
    assert Forked(TRAIN, [tmp_path / "plain"]).wait() == 0
    for name in ("model.safetensors", "experts"):
        assert (tmp_path / "odd" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
