"""A panic of Rust comes to Python as a class below BaseException that no library exports, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lance
import pytest
from datafusion import SessionContext
from substrate_steps import Place, rows

from omnigraph.errors.panics import is_panic
from omnigraph.tables.failures import LANCE_ERRORS

SEES_CLASSES = """
def classes():
    return [each for each in BaseException.__subclasses__() if each.__name__ == "PanicException"]
assert not classes()
import lance
assert [each.__module__ for each in classes()] == ["pyo3_runtime"]
import datafusion
assert len(set(classes())) == 2
"""


def damage(path: str) -> None:
    """Turn a bit of the length that the first message of the newest manifest has."""
    manifest = min(Path(path, "_versions").glob("*.manifest"))
    data = bytearray(manifest.read_bytes())
    data[1] ^= 0x10
    manifest.write_bytes(data)


def test_each_library_has_a_class_of_its_own_from_its_import_on():
    subprocess.run([sys.executable, "-c", SEES_CLASSES], check=True)


def test_one_wrong_bit_of_a_manifest_is_a_panic_that_exception_does_not_catch(disk: Place):
    disk.create(rows(1))
    damage(disk.uri())
    with pytest.raises(BaseException, match="out of range") as caught:
        lance.dataset(disk.uri())
    assert is_panic(caught.value)
    assert not isinstance(caught.value, Exception)
    assert isinstance(caught.value, LANCE_ERRORS)


def test_the_process_goes_on_after_a_panic(disk: Place):
    whole = disk.create(rows(1, 2), name="whole")
    disk.create(rows(1))
    damage(disk.uri())
    for _ in range(3):
        with pytest.raises(LANCE_ERRORS):
            lance.dataset(disk.uri())
        assert lance.dataset(whole.uri).count_rows() == 2


def test_a_panic_of_datafusion_is_of_another_class(disk: Place):
    with pytest.raises(BaseException, match="capacity overflow") as caught:
        SessionContext().sql("SELECT array_repeat(1, 9223372036854775807)").collect()
    assert is_panic(caught.value)
    assert not isinstance(caught.value, LANCE_ERRORS)
