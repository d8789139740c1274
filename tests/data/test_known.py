"""Published datasets: what a file is, and what is off."""

import pickle
from pathlib import Path

import pytest

from mmalign.data import known, synthetic_twin, write_native
from mmalign.data.known import sha256_of, verify
from mmalign.data.readers import ReadOptions
from mmalign.data.twin import TwinConfig
from mmalign.errors import DataError
from tests.data.readers.conftest import mmsa_value, write_misa


def texts(findings, verdict):
    return [finding.text for finding in findings if finding.verdict == verdict]


def test_real_mosi_is_recognised(shared_data):
    findings = verify(shared_data / "mosi")
    assert not texts(findings, "off")
    assert any("CMU-MOSI, all segments" in text for text in texts(findings, "good"))
    assert any("standard fold" in text for text in texts(findings, "good"))
    assert any("test (686)" in text for text in texts(findings, "note"))


def test_real_meld_is_recognised(shared_data):
    options = ReadOptions(vectors=shared_data / "mosi" / "glove300.npz")
    findings = verify(shared_data / "meld_text", options)
    assert any(text.endswith("MELD") for text in texts(findings, "good"))


def test_a_published_file_is_known_by_its_hash(tmp_path, monkeypatch):
    file = tmp_path / "aligned_50.pkl"
    file.write_bytes(pickle.dumps(mmsa_value(aligned=True)))
    assert any("none of MMSA's" in text for text in texts(verify(file), "note"))
    monkeypatch.setattr(known, "PUBLISHED_FILES", {sha256_of(file): "MOSI aligned_50.pkl"})
    assert any("bit for bit" in text for text in texts(verify(file), "good"))


def test_wrong_counts_and_strays_are_off(tmp_path):
    write_misa(tmp_path)
    rows = pickle.loads((tmp_path / "train.pkl").read_bytes())
    rows[0] = (rows[0][0], rows[0][1], "WKA5OygbEKI[77]")
    (tmp_path / "train.pkl").write_bytes(pickle.dumps(rows))
    off = texts(verify(tmp_path), "off")
    assert any("1284/229/686 or 1283/214/686" in text for text in off)
    assert any("WKA5OygbEKI[77] is in train, its video in valid" in text for text in off)


def test_a_damaged_page_of_a_native_file_is_off(tmp_path):
    twin = synthetic_twin(TwinConfig(clips=(6, 3, 3))).dataset
    write_native(twin, tmp_path / "native")
    assert not texts(verify(tmp_path / "native"), "off")
    file = tmp_path / "native" / "train-00000.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    assert any("damaged" in text for text in texts(verify(tmp_path / "native"), "off"))


def test_an_unreadable_file_is_off(tmp_path):
    (tmp_path / "x.pkl").write_bytes(b"\x80\x04cut")
    assert texts(verify(tmp_path / "x.pkl"), "off")


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        verify(tmp_path / "nothing")


def test_data_that_comes_with_the_install_is_sound():
    assert not texts(verify(Path("smartwatch")), "off")


def test_non_finite_values_are_noted(tmp_path):
    value = mmsa_value(aligned=False)
    value["train"]["audio"][0, 0, 0] = float("-inf")
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(value))
    assert any(
        "non-finite value of audio" in text for text in texts(verify(tmp_path / "x.pkl"), "note")
    )


def test_words_without_vectors_are_no_fault_of_the_file(tmp_path):
    header = "Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID\n"
    row = "1,Oh my,Joey,joy,positive,0,0\n2,No,Ross,anger,negative,0,1\n"
    (tmp_path / "train_sent_emo.csv").write_text(header + row)
    (finding,) = verify(tmp_path)
    assert finding.verdict == "note"
    assert "need vectors" in finding.text
