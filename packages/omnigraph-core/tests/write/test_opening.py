"""``open_repository``: what it asks, what it refuses, and that reading writes nothing."""

from __future__ import annotations

import uuid

import pytest
from publish_world import LIBRARY, PERSON, appending, ids_at, new_adapter, new_graph, write

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import (
    FormatError,
    InvalidInputError,
    NotFoundError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.log import ENDPOINT_KEY
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import schema_key
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.faults import CountingAdapter, Raise, armed
from omnigraph.write import opening
from omnigraph.write.opening import open_repository

CHANGES = {"write", "write_if_absent", "write_if_match", "rename", "delete", "delete_prefix", "make_durable"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[CountingAdapter]:
    """The adapters that are opened, each counting what it is asked."""
    found: list[CountingAdapter] = []
    genuine = opening.open_adapter

    def open_adapter(*arguments, **keywords) -> CountingAdapter:
        inner = genuine(*arguments, **keywords)
        adapter = CountingAdapter(inner)
        adapter.is_read_only = inner.is_read_only
        found.append(adapter)
        return adapter

    monkeypatch.setattr(opening, "open_adapter", open_adapter)
    return found


def graph() -> tuple[str, Repository]:
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    return str(repository.adapter.root), repository


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_an_open_graph_shows_what_was_committed(mode):
    uri, made = graph()
    repository = open_repository(uri, mode=mode)
    assert repository.known().state == made.newest().state
    assert ids_at(repository, repository.known(), PERSON) == ["ann"]
    assert repository.adapter.is_read_only == (mode == "r")


def test_opening_for_reading_changes_nothing_and_writes_no_table(opened):
    uri, _ = graph()
    with count_table_calls() as counts:
        repository = open_repository(uri, mode="r")
    assert counts == {"log.open": 1, "log.read": 1}
    assert opened[0].calls == {"read": 2}  # the object of main, and the schema
    with pytest.raises(ReadOnlyError):
        write(repository, {PERSON: appending("bob")})
    assert not CHANGES & set(opened[0].calls)


def test_opening_for_writing_trusts_the_verdict_of_init(opened):
    uri, _ = graph()
    with count_table_calls() as counts:
        open_repository(uri, mode="rw")
    assert counts == {"log.open": 1, "log.read": 1}
    # The object of main, the schema, and a look for writes that were cut off.
    assert opened[0].calls == {"read": 2, "list_dir": 1}


def test_opening_for_writing_finishes_an_init_that_was_cut_off_after_it_made_the_graph(opened):
    with armed({failpoints.INIT_AFTER_GENESIS: Raise(KeyboardInterrupt())}), pytest.raises(KeyboardInterrupt):
        new_graph(adapter := new_adapter())
    claim, copy = adapter.key("__init_claim.json"), adapter.key("_schema.pg")
    assert adapter.exists(claim)
    open_repository(str(adapter.root), mode="r")
    assert adapter.exists(claim)
    open_repository(str(adapter.root), mode="rw")
    assert not adapter.exists(claim)
    assert adapter.read(copy).decode() == LIBRARY


@pytest.mark.parametrize(("mode", "is_verified"), [("rw", True), ("r", False)])
def test_a_graph_that_was_moved_to_another_store_is_verified_before_it_is_written(mode, is_verified, monkeypatch):
    uri, repository = graph()
    table = repository.newest().table
    table.publish(
        keep=range(len(table.fragment_rows)),
        staged=(),
        metadata=table.metadata | {ENDPOINT_KEY: "elsewhere://"},
        transaction_id="0",
        properties={},
    )
    verified: list[object] = []
    monkeypatch.setattr(opening, "verify_place", verified.append)
    open_repository(uri, mode=mode)
    assert bool(verified) == is_verified


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_place_without_a_graph_is_told_and_stays_empty(mode, opened):
    with pytest.raises(NotFoundError, match="no graph") as caught:
        open_repository("memory://nothing-here", mode=mode)
    assert "init" in str(caught.value.help)
    assert not CHANGES & set(opened[0].calls)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_graph_without_its_schema_is_damaged(mode):
    uri, repository = graph()
    repository.adapter.delete(schema_key(repository.adapter, repository.newest().state.schema_digest))
    with pytest.raises(FormatError, match="missing"):
        open_repository(uri, mode=mode)


def failing(monkeypatch: pytest.MonkeyPatch, condition: StorageCondition) -> StorageError:
    error = StorageError("It cannot be read.", condition=condition)

    def open_manifest(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(opening, "open_manifest", open_manifest)
    return error


@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("condition", [StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION])
def test_a_store_that_does_not_answer_or_refuses_is_no_damage(mode, condition, monkeypatch):
    uri, _ = graph()
    error = failing(monkeypatch, condition)
    with pytest.raises(StorageError) as caught:
        open_repository(uri, mode=mode)
    assert caught.value is error


@pytest.mark.parametrize(
    "condition", [StorageCondition.PERMANENT, StorageCondition.UNKNOWN, StorageCondition.NOT_FOUND]
)
def test_a_newest_version_that_cannot_be_read_is_damage(condition, monkeypatch):
    uri, _ = graph()
    failing(monkeypatch, condition)
    for mode in ("r", "rw"):
        with pytest.raises(FormatError, match="cannot be read") as caught:
            open_repository(uri, mode=mode)
        # It is not what a loss of power leaves, so opening it for writing would not help.
        assert "restore the graph from a copy" in str(caught.value.help)


def test_a_failed_open_closes_what_it_opened(opened, monkeypatch):
    closed: list[object] = []
    monkeypatch.setattr(CountingAdapter, "close", lambda self: closed.append(self))
    with pytest.raises(NotFoundError):
        open_repository("memory://nothing-here-either")
    assert closed == opened


def test_an_unknown_mode_is_refused():
    with pytest.raises(InvalidInputError, match="mode"):
        open_repository("memory://x", mode="w")


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_where_an_init_was_cut_off_the_refusal_says_how_to_go_on(mode: str):
    uri = f"memory://cut-off-{uuid.uuid4().hex}"
    with armed({failpoints.INIT_BEFORE_GENESIS: Raise(KeyboardInterrupt())}), pytest.raises(KeyboardInterrupt):
        og.init(uri, schema="node A { n: I64 @key }")
    with pytest.raises(NotFoundError, match="--force"):
        og.open(uri, mode=mode)
    og.init(uri, schema="node A { n: I64 @key }", force=True)
    assert og.open(uri, mode=mode).snapshot().commit.manifest_version == 1
