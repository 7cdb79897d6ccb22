"""The table of recoveries: one row per operation, whoever tells of it and however often."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count

import pyarrow as pa
import pytest

from omnigraph.errors import FormatError, StorageCondition, StorageError
from omnigraph.history.branches import BranchRef
from omnigraph.history.log import Manifests
from omnigraph.history.recoveries import (
    MAX_FRAGMENTS,
    Recovery,
    RecoveryKind,
    TableOutcome,
    read_recoveries,
    record_recovery,
    recoveries_location,
)
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.log import LogStore, LogTable

_seconds = count()


@pytest.fixture
def manifests() -> Manifests:
    logs = LogStore(MemoryAdapter(parse_uri(f"memory://recoveries-{secrets.token_hex(8)}")))
    return Manifests(logs, BranchRef.new_main(new_ulid(), created_at=datetime.now(UTC)))


def recovery(**facts: object) -> Recovery:
    told: dict[str, object] = {
        "graph_commit_id": new_ulid(),
        "kind": RecoveryKind.ROLLED_BACK,
        "recovery_for_actor": None,
        "operation_id": new_ulid(),
        "writer_kind": "load",
        "branch": "main",
        "tables": (TableOutcome(table_key="node:Film", found="NoMovement", from_version=3, to_version=3),),
        "created_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(_seconds)),
    }
    return Recovery(**(told | facts))  # type: ignore[arg-type]


def test_of_a_graph_that_nothing_happened_to_there_is_nothing_to_tell(manifests):
    assert read_recoveries(manifests) == ()


def test_what_is_kept_is_read_back_the_oldest_first(manifests):
    first = recovery(recovery_for_actor="zoé", tables=())
    second = recovery(kind=RecoveryKind.ORPHANED_BRANCH_DISCARDED, branch="déjà/vu")
    for each in (second, first):
        assert record_recovery(manifests, each)
    assert read_recoveries(manifests) == (first, second)


def test_an_operation_is_told_once(manifests):
    first = recovery()
    assert record_recovery(manifests, first)
    assert not record_recovery(manifests, recovery(operation_id=first.operation_id, kind=RecoveryKind.ROLLED_FORWARD))
    assert read_recoveries(manifests) == (first,)


def test_many_are_told_at_once_and_each_operation_once(manifests):
    told = [recovery() for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        made = list(threads.map(lambda each: record_recovery(manifests, each), told * 2))
    assert sorted(made) == [False] * 6 + [True] * 6
    assert read_recoveries(manifests) == tuple(told)


def test_the_table_stays_in_few_pieces_however_many_there_are(manifests):
    told = [recovery() for _ in range(2 * MAX_FRAGMENTS + 3)]
    for each in told:
        record_recovery(manifests, each)
    assert read_recoveries(manifests) == tuple(told)
    assert len(manifests.logs.open(recoveries_location(manifests)).fragment_rows) <= MAX_FRAGMENTS


def test_a_recovery_that_is_not_durable_is_not_told(manifests, monkeypatch):
    genuine, left = LogTable.sync, [StorageCondition.TRANSIENT] * 2

    def sync(self: LogTable) -> None:
        if left:
            raise StorageError("The disk is gone.", condition=left.pop(), help="Wait.")
        genuine(self)

    monkeypatch.setattr(LogTable, "sync", sync)
    first = recovery()
    for _ in range(2):
        # The second time its row is there already, and may still be lost.
        with pytest.raises(StorageError):
            record_recovery(manifests, first)
    assert not record_recovery(manifests, first)
    assert read_recoveries(manifests) == (first,)


def test_a_table_that_holds_something_else_is_told_so(manifests):
    rows = pa.table({name: ["x"] for name in ("operation_id", "recovery_kind")})
    location = recoveries_location(manifests)
    staged = manifests.logs.stage_create(location, rows)
    manifests.logs.create(location, schema=rows.schema, staged=staged, transaction_id="0", properties={})
    with pytest.raises(FormatError, match="damaged"):
        read_recoveries(manifests)


def test_the_json_form_says_who_did_it_and_for_whom():
    told = recovery(recovery_for_actor="zoe").to_dict()
    assert (told["actor"], told["recovery_for_actor"]) == ("omnigraph:recovery", "zoe")
    assert told["recovery_kind"] == "RolledBack"
    assert told["tables"] == [
        {"table_key": "node:Film", "found": "NoMovement", "from_version": 3, "to_version": 3},
    ]


def test_a_graph_that_was_made_at_the_same_place_knows_nothing_of_it(manifests):
    assert record_recovery(manifests, recovery())
    later = Manifests(manifests.logs, BranchRef.new_main(new_ulid(), created_at=datetime.now(UTC)))
    assert read_recoveries(later) == ()
