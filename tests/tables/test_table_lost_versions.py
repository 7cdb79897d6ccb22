"""A deleted newest version of the manifest rolls a branch back: a disk shows it, and it is never silent."""

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


@pytest.fixture
def branch_manifest(place: Path) -> Path:
    """The newest version of a branch that main knows nothing of."""
    with og.open(str(place)) as graph:
        graph.branches.create("review")
        graph.load(person(7), "append", branch="review")
    return min(place.glob("__manifest/*/tree/*/_versions/[0-9]*.manifest"))


def test_a_branch_that_was_rolled_back_is_read_with_a_warning(place: Path, branch_manifest: Path, caplog):
    branch_manifest.unlink()
    with caplog.at_level(logging.WARNING, "omnigraph"), og.open(str(place), mode="r") as graph:
        assert "was deleted" not in caplog.text
        assert len(graph.table("Person", branch="review").rows()) == 3
        assert "manifest of review" in caplog.text
        assert str(branch_manifest) in caplog.text


def test_a_branch_that_was_rolled_back_is_not_written_until_its_version_is_back(
    place: Path, branch_manifest: Path, tmp_path: Path
):
    shutil.move(branch_manifest, tmp_path / "copy")
    with og.open(str(place)) as graph:
        with pytest.raises(FormatError) as refused:
            graph.load(person(8), "append", branch="review")
        assert str(branch_manifest) in refused.value.message
        assert refused.value.details["branch"] == "review"
        graph.load(person(8), "append")
        shutil.move(tmp_path / "copy", branch_manifest)
        graph.load(person(9), "append", branch="review")
        assert {each["name"] for each in graph.table("Person", branch="review").rows()} >= {"p7", "p9"}


def test_a_handle_that_has_read_the_deleted_version_warns_and_writes_when_it_is_back(
    place: Path, tmp_path: Path, caplog
):
    with og.open(str(place)) as graph:
        newest = newest_of(place)
        shutil.move(newest, tmp_path / "copy")
        # Only its own memory tells of it, as on an object store.
        next(place.glob("__manifest/*/_versions/latest_version_hint.json")).unlink()
        with caplog.at_level(logging.WARNING, "omnigraph"):
            assert len(graph.table("Person").rows()) == 2
        assert "4, was deleted" in caplog.text
        with pytest.raises(FormatError, match="4, was deleted") as refused:
            graph.load(person(9), "append")
        assert "open the graph again" in refused.value.help
        shutil.move(tmp_path / "copy", newest)
        graph.load(person(9), "append")
        assert len(graph.table("Person").rows()) == 4
