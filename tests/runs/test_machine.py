"""What is recorded of the machine."""

import sys

from mmalign.runs import machine
from mmalign.runs.machine import describe_machine


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
