"""A deleted newest version of the manifest rolls the graph back: a disk shows it, and it is never silent."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import FormatError
from omnigraph.tables import lost_versions

SCHEMA = "node Person { name: String @key }"


def person(number: int) -> list[dict]:
    return [{"type": "Person", "data": {"name": f"p{number}"}}]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "graph"
    with og.init(str(path), schema=SCHEMA) as graph:
        for number in range(3):
            graph.load(person(number), "append")
    return path


def newest_of(place: Path) -> Path:
    return min(place.glob("__manifest/*/_versions/[0-9]*.manifest"))


def test_opening_for_writing_is_refused_until_the_version_is_back(place: Path, tmp_path: Path):
    newest = newest_of(place)
    shutil.move(newest, tmp_path / "copy")
    with pytest.raises(FormatError) as refused:
        og.open(str(place))
    assert str(newest) in refused.value.message
    assert "Restore the file from a copy" in refused.value.help
    shutil.move(tmp_path / "copy", newest)
    with og.open(str(place)) as graph:
        assert len(graph.table("Person").rows()) == 3


def test_opening_for_reading_warns(place: Path, caplog):
    newest_of(place).unlink()
    with caplog.at_level(logging.WARNING, "omnigraph"), og.open(str(place), mode="r") as graph:
        assert len(graph.table("Person").rows()) == 2
    assert "was deleted" in caplog.text


def test_who_deletes_the_hint_goes_on_from_what_is_there(place: Path):
    newest_of(place).unlink()
    next(place.glob("__manifest/*/_versions/latest_version_hint.json")).unlink()
    with og.open(str(place)) as graph:
        graph.load(person(9), "append")
        assert len(graph.table("Person").rows()) == 3
    og.open(str(place)).close()


def test_what_a_loss_of_power_explains_is_a_warning_only(place: Path, caplog, monkeypatch):
    """The machine was started after the hint was written: the version may never have been durable, nor acknowledged."""
    newest_of(place).unlink()
    (hint,) = place.glob("__manifest/*/_versions/latest_version_hint.json")
    monkeypatch.setattr(lost_versions, "started_at", lambda: hint.stat().st_mtime + 1)
    with caplog.at_level(logging.WARNING, "omnigraph"), og.open(str(place)) as graph:
        graph.load(person(9), "append")
    assert "was deleted" in caplog.text


def test_a_version_in_quarantine_is_not_a_deleted_one(place: Path, caplog):
    newest_of(place).write_bytes(b"")
    with caplog.at_level(logging.WARNING, "omnigraph"), og.open(str(place)) as graph:
        assert len(graph.table("Person").rows()) == 2
    assert "was deleted" not in caplog.text


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": "x"}', "\0\0"])
def test_a_hint_that_says_nothing_is_passed_over(place: Path, text: str):
    next(place.glob("__manifest/*/_versions/latest_version_hint.json")).write_text(text)
    og.open(str(place)).close()
