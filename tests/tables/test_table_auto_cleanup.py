"""Settings of another Lance tool that delete old versions with each commit: no commit of ours carries them out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

import omnigraph as og
from omnigraph.errors import StorageCondition, StorageError

SCHEMA = "node Person { name: String @key  age: I32? }"
LOADS = 6
AT_EACH_COMMIT = {"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"}
LATER = {"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "1000d"}
"""So that Lance does not delete with the commit that brings the settings."""


def person(number: int) -> list[dict]:
    return [{"type": "Person", "data": {"name": f"p{number}"}}]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    with og.init(str(tmp_path / "graph"), schema=SCHEMA) as graph:
        for number in range(LOADS):
            graph.load(person(number), "append")
        yield graph


def table_of(graph: og.Graph) -> Path:
    (table,) = (Path(graph.uri) / "nodes").iterdir()
    return table


def versions(table: Path) -> set[int]:
    names = (each.name.removesuffix(".manifest") for each in (table / "_versions").glob("[0-9]*.manifest"))
    return {2**64 - 1 - int(each) for each in names}


def configure(table: Path, settings: dict[str, str]) -> None:
    """What another tool does; by itself it deletes nothing here, as no version is a thousand days old."""
    lance.dataset(str(table)).update_config(settings)


def make_due(table: Path) -> None:
    """Settings that have Lance delete everything old with the next commit, without deleting anything by themselves.

    Lance deletes at versions that the interval divides, and the version of the settings is none.
    """
    newest = max(versions(table))
    interval = next(each for each in range(2, 50) if (newest + 1) % each and (newest + 2) % each == 0)
    configure(table, {"lance.auto_cleanup.interval": str(interval), "lance.auto_cleanup.older_than": "0s"})
    assert versions(table) >= set(range(1, newest + 2))


def test_a_write_deletes_nothing_of_a_table_that_others_gave_such_settings(graph: og.Graph, caplog):
    table = table_of(graph)
    before = versions(table)
    make_due(table)
    with caplog.at_level(logging.WARNING, "omnigraph"):
        graph.load(person(99), "append")
    assert versions(table) >= before
    assert "lance.auto_cleanup.interval, lance.auto_cleanup.older_than" in caplog.text
    # What other tools find is the published version again, without the settings.
    assert lance.dataset(str(table)).config() == {}
    first = graph.commits.list()[-2]
    assert [row["name"] for row in graph.table("Person", snapshot=first.id).rows()] == ["p0"]


@pytest.mark.parametrize("change", ["load", "branch", "mutate"])
def test_a_write_is_refused_whose_publish_would_delete_history(graph: og.Graph, change: str):
    (manifest,) = (Path(graph.uri) / "__manifest").iterdir()
    make_due(manifest)
    before = versions(manifest), versions(table_of(graph))
    rows = graph.table("Person").rows()
    acts = {
        "load": lambda: graph.load(person(99), "append"),
        "branch": lambda: graph.branches.create("dev"),
        "mutate": lambda: graph.mutate('query q() { update Person set { age: 1 } where name = "p1" }'),
    }
    with pytest.raises(StorageError) as refused:
        acts[change]()
    error = refused.value
    assert error.condition is StorageCondition.CONFIGURATION
    assert "lance.auto_cleanup.interval, lance.auto_cleanup.older_than" in error.message
    assert versions(manifest) == before[0]
    assert versions(table_of(graph)) >= before[1]
    assert graph.table("Person").rows() == rows
    # The way out of the message.
    keys = ["lance.auto_cleanup.interval", "lance.auto_cleanup.older_than"]
    assert f"lance.dataset({str(manifest)!r}).delete_config_keys({keys!r})" in error.help
    lance.dataset(str(manifest)).delete_config_keys(keys)
    acts[change]()
    assert versions(manifest) >= before[0]
    graph.refresh()
    assert graph.recoveries.pending() == []


def test_a_branch_is_as_safe(graph: og.Graph):
    graph.branches.create("dev")
    graph.load(person(50), "append", branch="dev")
    (line,) = Path(graph.uri).glob("__manifest/*/tree/*")
    (fork,) = (table_of(graph) / "tree").iterdir()
    make_due_from = versions(fork)
    configure(fork, LATER)
    graph.load(person(51), "append", branch="dev")
    assert versions(fork) >= make_due_from
    configure(line, LATER)
    with pytest.raises(StorageError, match=r"lance\.auto_cleanup\."):
        graph.load(person(52), "append", branch="dev")
    graph.load(person(53), "append")


def test_reading_warns_of_such_settings_of_the_manifest(graph: og.Graph, caplog):
    configure(next((Path(graph.uri) / "__manifest").iterdir()), LATER)
    with caplog.at_level(logging.WARNING, "omnigraph"), og.open(graph.uri, mode="r") as reader:
        assert len(reader.table("Person").rows()) == LOADS
    assert "lance.auto_cleanup.interval" in caplog.text


def test_the_audit_of_recoveries_is_not_written_to_while_it_has_such_settings(graph: og.Graph):
    from omnigraph.history.recoveries import Recovery, RecoveryKind, record_recovery, recoveries_location

    def row(operation: str) -> Recovery:
        made = graph.commits.list()[0]
        return Recovery(
            graph_commit_id=made.id,
            kind=RecoveryKind.ROLLED_FORWARD,
            recovery_for_actor=None,
            operation_id=operation,
            writer_kind="load",
            branch="main",
            tables=(),
            created_at=made.created_at,
        )

    manifests = graph._repository.manifests
    record_recovery(manifests, row("01ARZ3NDEKTSV4RRFFQ69G5FA0"))
    table = Path(graph.uri) / recoveries_location(manifests)
    configure(table, LATER)
    before = versions(table)
    with pytest.raises(StorageError, match=r"lance\.auto_cleanup\."):
        record_recovery(manifests, row("01ARZ3NDEKTSV4RRFFQ69G5FA1"))
    assert versions(table) == before
