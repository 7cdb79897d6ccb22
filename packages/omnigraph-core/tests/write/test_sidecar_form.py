"""The JSON of a sidecar: what is spelled is read back, and whatever makes no sense is refused with the place."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from publish_world import FILM, PERSON, new_adapter

from omnigraph.errors import ResourceLimitError
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import CommitKind
from omnigraph.history.ulids import new_ulid
from omnigraph.history.whereabouts import Whereabouts
from omnigraph.tables.interface import TablePin
from omnigraph.write import sidecar as sidecar_module
from omnigraph.write.plan import (
    AdoptedTable,
    AnnouncedPlan,
    CommitIntent,
    MergedHead,
    PlannedTable,
    ReadSet,
    Writer,
    WriterKind,
)
from omnigraph.write.sidecar import (
    FoundSidecar,
    delete_sidecar,
    list_sidecars,
    read_sidecar,
    remove_settled,
    withdraw_sidecar,
    write_sidecar,
)
from omnigraph.write.sidecar_form import SidecarFormError, parse_sidecar, spell_sidecar


def pin(number: int, version: int = 3) -> TablePin:
    return TablePin(location=f"nodes/{number:016x}-{1:016x}", branch=None, version=version)


def announced() -> AnnouncedPlan:
    """A merge that changes one type on a fork and adopts another one."""
    pins = {FILM: pin(1), PERSON: pin(2, 7)}
    merged = BranchRef(name="source", physical="b2", incarnation="2")
    return AnnouncedPlan(
        operation_id=new_ulid(),
        graph=new_ulid(),
        kind=WriterKind.MUTATION,
        writer=Writer(id=new_ulid(), process=Whereabouts(machine="m/1", pid=17, began=None)),
        branch=BranchRef(name="déjà/vu", physical="b1", incarnation="i1"),
        base_version=12,
        intent=CommitIntent(
            id=new_ulid(),
            kind=CommitKind.DATA,
            actor=None,
            created_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
            properties={"load_id": "n-1", "note": ""},
        ),
        read_set=ReadSet(pins=pins, schema_digest="d" * 64, incarnation="i1", if_commit=new_ulid()),
        tables=(
            PlannedTable(
                key=PERSON,
                identity=(2, 1),
                pin=pins[PERSON],
                fork="b1.01JZ8QK3V5X6Y7Z8",
                transaction_id="b0a8c7e0-a8ec-4a8b-ab34-484fa2bfb83c",
            ),
        ),
        adopted=(
            AdoptedTable(
                key=FILM,
                identity=(1, 1),
                pin=pins[FILM],
                to=TablePin(location=pins[FILM].location, branch="b2.x", version=9),
                row_count=0,
                version_metadata="{}",
            ),
        ),
        merged=MergedHead(branch=merged, commit_id=new_ulid(), manifest_version=3, base_id=new_ulid()),
    )


def test_what_is_spelled_is_read_back():
    plan = announced()
    assert parse_sidecar(spell_sidecar(plan), plan.operation_id) == plan


def altered(facts: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = deepcopy(facts)
    *above, last = path.split(".")
    inner: Any = changed
    for each in above:
        inner = inner[int(each)] if each.isdigit() else inner[each]
    inner[last] = value
    return changed


WRONG: list[tuple[str, Any, str]] = [
    ("schema_version", 1, "version 1"),
    ("schema_version", 3, "version 3"),
    ("schema_version", "2", "schema_version"),
    ("schema_version", True, "schema_version"),
    ("operation_id", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "another operation"),
    ("operation_id", "x", "ULID"),
    ("graph", None, "graph"),
    ("writer_kind", "cleanup", "writer_kind"),
    ("writer", [], "writer"),
    ("writer.id", 3, "writer.id"),
    ("writer.pid", -1, "writer.pid"),
    ("writer.machine", "", "writer.machine"),
    ("branch.name", "", "branch.name"),
    ("branch.incarnation", "i2", "another branch"),
    ("base_manifest_version", 0, "base_manifest_version"),
    ("commit.id", "nope", "commit.id"),
    ("commit.kind", "magic", "commit.kind"),
    ("commit.created_at", 2**62, "no time"),
    ("commit.properties", {"a": 1}, "commit.properties.a"),
    ("read_set.pins", {}, "read_set.pins"),
    ("read_set.pins.0.version", 0, "read_set.pins[0].version"),
    ("read_set.pins.1.version", 8, "without relying on it"),
    ("read_set.if_commit", 3, "read_set.if_commit"),
    ("tables", None, "tables"),
    ("tables.0.location", "nodes/elsewhere", "does not lie"),
    ("tables.0.location", "../other/nodes/x", "does not lie"),
    ("tables.0.transaction_id", "x", "no transaction"),
    ("tables.0.stable_table_id", 2**64, "stable_table_id"),
    ("tables.0.table_key", FILM, "is changed too"),
    ("tables.0.fork", None, "line of another branch"),
    ("tables.0.fork", "b10.01JZ8QK3V5X6Y7Z8", "line of another branch"),
    ("adopted", {}, "adopted"),
    ("adopted.0.version", 4, "without relying on it"),
    ("adopted.0.to.location", "nodes/elsewhere", "does not lie"),
    ("adopted.0.to.version", 0, "adopted[0].to.version"),
    ("adopted.0.row_count", -1, "adopted[0].row_count"),
    ("merged", [], "merged"),
    ("merged.commit_id", "x", "merged.commit_id"),
    ("merged.base_id", None, "merged.base_id"),
    ("merged.branch.name", None, "merged.branch.name"),
]


@pytest.mark.parametrize(("path", "value", "told"), WRONG, ids=[f"{path}={value}" for path, value, _ in WRONG])
def test_a_part_that_makes_no_sense_is_refused_with_its_place(path, value, told):
    plan = announced()
    facts = altered(json.loads(spell_sidecar(plan)), path, value)
    with pytest.raises(SidecarFormError) as caught:
        parse_sidecar(json.dumps(facts).encode(), plan.operation_id)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", json.loads(spell_sidecar(announced())))
def test_a_part_that_is_missing_is_refused(name):
    plan = announced()
    facts = json.loads(spell_sidecar(plan))
    del facts[name]
    with pytest.raises(SidecarFormError):
        parse_sidecar(json.dumps(facts).encode(), plan.operation_id)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"null", b"{}"])
def test_what_is_no_plan_at_all_is_refused(data):
    with pytest.raises(SidecarFormError):
        parse_sidecar(data, new_ulid())


def test_every_cut_of_a_sidecar_is_refused():
    plan = announced()
    data = spell_sidecar(plan)
    for length in range(len(data)):
        with pytest.raises(SidecarFormError):
            parse_sidecar(data[:length], plan.operation_id)


def test_a_table_that_comes_twice_is_refused():
    plan = announced()
    facts = json.loads(spell_sidecar(plan))
    facts["tables"] *= 2
    with pytest.raises(SidecarFormError, match="twice"):
        parse_sidecar(json.dumps(facts).encode(), plan.operation_id)


# ── the object ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sidecar_is_found_read_and_removed():
    adapter, plan = new_adapter(), announced()
    assert list_sidecars(adapter) == ()
    write_sidecar(adapter, plan)
    (found,) = list_sidecars(adapter)
    assert found == FoundSidecar(operation_id=plan.operation_id, is_withdrawn=False)
    assert read_sidecar(adapter, found, graph=plan.graph) == plan
    assert delete_sidecar(adapter, plan.operation_id)
    assert read_sidecar(adapter, found, graph=plan.graph) is None


def test_one_of_another_graph_is_refused():
    adapter, plan = new_adapter(), announced()
    write_sidecar(adapter, plan)
    with pytest.raises(SidecarFormError, match="another graph"):
        read_sidecar(adapter, list_sidecars(adapter)[0], graph=new_ulid())


def test_one_that_was_renamed_halfway_counts_as_withdrawn_until_both_are_gone():
    adapter, plan = new_adapter(), announced()
    write_sidecar(adapter, plan)
    assert withdraw_sidecar(adapter, plan.operation_id)
    write_sidecar(adapter, plan)
    (found,) = list_sidecars(adapter)
    assert found.is_withdrawn
    assert read_sidecar(adapter, found, graph=plan.graph) == plan
    assert remove_settled(adapter, found)
    assert list_sidecars(adapter) == ()


@pytest.mark.parametrize("name", ["notes.txt", "x.json", "x.withdrawn.json"])
def test_a_file_that_is_no_sidecar_is_refused_and_not_overlooked(name):
    adapter = new_adapter()
    adapter.write(adapter.key(f"__recovery/{name}"), b"{}")
    with pytest.raises(SidecarFormError, match="no operation"):
        read_sidecar(adapter, list_sidecars(adapter)[0], graph=new_ulid())


def test_a_plan_that_is_too_large_is_refused_before_it_is_written_and_when_it_is_read(monkeypatch):
    adapter, plan = new_adapter(), announced()
    write_sidecar(adapter, plan)
    monkeypatch.setattr(sidecar_module, "MAX_SIDECAR_BYTES", 100)
    with pytest.raises(SidecarFormError, match="larger"):
        read_sidecar(adapter, list_sidecars(adapter)[0], graph=plan.graph)
    delete_sidecar(adapter, plan.operation_id)
    with pytest.raises(ResourceLimitError) as caught:
        write_sidecar(adapter, plan)
    assert caught.value.resource == "sidecar_bytes"
    assert list_sidecars(adapter) == ()
