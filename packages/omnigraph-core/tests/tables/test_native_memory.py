"""Memory that was freed goes back to the system where the C library can be asked, and nothing happens elsewhere."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from omnigraph.tables import native_memory
from omnigraph.tables.native_memory import give_back
from omnigraph.tables.sessions import new_session


@pytest.fixture(autouse=True)
def looked_up_anew() -> Iterator[None]:
    native_memory._malloc_trim.cache_clear()
    yield
    native_memory._malloc_trim.cache_clear()


class Library:
    def __init__(self) -> None:
        self.asked: list[int] = []

    def malloc_trim(self, padding: int) -> int:
        self.asked.append(padding)
        return 1


def test_the_c_library_is_asked_for_all_that_it_can_give(monkeypatch: pytest.MonkeyPatch):
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    give_back()
    give_back()
    assert library.asked == [0, 0]


@pytest.mark.parametrize("error", [OSError("no such library"), TypeError("a name is needed")])
def test_a_system_without_such_a_library_is_left_alone(monkeypatch: pytest.MonkeyPatch, error: Exception):
    def refuse(_name: None) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    give_back()


def test_a_library_without_the_function_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back()


def test_bounds_of_any_size_make_a_session(monkeypatch: pytest.MonkeyPatch):
    for bound in ("0", "1", str(2**80)):
        monkeypatch.setenv("OMNIGRAPH_METADATA_CACHE_BYTES", bound)
        monkeypatch.setenv("OMNIGRAPH_INDEX_CACHE_BYTES", bound)
        assert new_session().size_bytes() < 1_000
