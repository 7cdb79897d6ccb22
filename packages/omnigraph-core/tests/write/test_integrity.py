"""``check_integrity`` finds each kind of damage, planted behind the back of the validators, and nothing else.

Expected findings follow from the rules of the language (section 13) and from what was planted.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from publish_world import another_handle, commit_after, disk_adapter, new_graph, publish_bare, write

from omnigraph.errors import NotFoundError, StorageCondition, StorageError
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.state import pin_row
from omnigraph.tables.interface import StagedHandle, TablePin, TableState
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.opening import manifest_name
from omnigraph.tables.row_filters import OneOf
from omnigraph.write.branching import make_branch
from omnigraph.write.integrity import Finding, FindingKind, check_integrity
from omnigraph.write.load import LoadRequest, load, parse_mode
from omnigraph.write.merge import MergeRequest, merge_branch

SCHEMA = """
node Film {
    code: String @key
    genre: enum(drama, docu)?
    stars: F32?
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
node Seat { hall: String  day: Date  @key(hall, day) }
node Note { text: String }
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
edge Married: Person -> Person @card(0..1)
edge Pairs: Film -> Film @card(2..)
"""
STORED: Sequence[Mapping[str, Any]] = (
    {"type": "Film", "data": {"code": "SF-1", "genre": "drama", "stars": 4.5}},
    {"type": "Film", "data": {"code": "DR-2"}},
    {"type": "Person", "data": {"handle": "ann", "mail": "ann@x.org"}},
    {"type": "Person", "data": {"handle": "bo"}},
    {"type": "Seat", "data": {"hall": "north", "day": "1970-01-03"}},
    {"type": "Note", "data": {"id": "n", "text": "x"}},
    {"edge": "Rented", "from": "ann", "to": "SF-1", "data": {"id": "r1"}},
    {"edge": "Follows", "from": "ann", "to": "bo", "data": {"id": "f1"}},
    {"edge": "Married", "from": "ann", "to": "bo", "data": {"id": "m1"}},
    {"edge": "Pairs", "from": "SF-1", "to": "DR-2", "data": {"id": "p1"}},
    {"edge": "Pairs", "from": "SF-1", "to": "SF-1", "data": {"id": "p2"}},
)
FILM, PERSON, RENTED = "node:Film", "node:Person", "edge:Rented"


@pytest.fixture
def graph() -> Repository:
    return filled(new_graph(schema=SCHEMA))


def filled(repository: Repository) -> Repository:
    load(repository, STORED, LoadRequest(mode=parse_mode("append")))
    return repository


def appending(*records: Mapping[str, Any]) -> Callable[[Repository, TablePin, TypeTable], StagedHandle]:
    """Rows as they are, whatever the rules say."""

    def stage(repository: Repository, pin: TablePin, target: TypeTable) -> StagedHandle:
        rows = [{name: record.get(name) for name in target.schema.names} for record in records]
        return repository.tables.stage_append(
            repository.tables.open_at(pin), pa.Table.from_pylist(rows, schema=target.schema)
        )

    return stage


def removing(*ids: str) -> Callable[[Repository, TablePin, TypeTable], StagedHandle]:
    def stage(repository: Repository, pin: TablePin, target: TypeTable) -> StagedHandle:
        staged = repository.tables.stage_delete(repository.tables.open_at(pin), OneOf("id", pa.array(list(ids))))
        assert staged is not None
        return staged

    return stage


def damage(repository: Repository, **options: Any) -> list[Finding]:
    return [each for each in check_integrity(repository, **options) if each.is_damage]


def only(repository: Repository) -> Finding:
    (found,) = check_integrity(repository)
    return found


def test_a_whole_graph_has_no_findings(graph: Repository):
    assert check_integrity(graph) == ()
    assert check_integrity(new_graph(schema=SCHEMA)) == ()


@pytest.mark.parametrize(
    ("key", "row", "kind", "property_", "said"),
    [
        (FILM, {"id": "x-1", "code": "x-1"}, "check", "code", "@check violation on Film.code"),
        (FILM, {"id": "XX-1", "code": "XX-1", "stars": 5.5}, "range", "stars", "5.5 is above the maximum 5.0"),
        (FILM, {"id": "XX-1", "code": "XX-1", "genre": "western"}, "enum", "genre", "invalid enum value 'western'"),
        (FILM, {"id": "SF-1", "code": "SF-1"}, "duplicate_id", None, "several rows have this id"),
        (FILM, {"id": "XX-1", "code": "XX-2"}, "key_mismatch", None, "the id that its key gives is 'XX-2'"),
        (PERSON, {"id": "cy", "handle": "cy", "mail": "ann@x.org"}, "unique", "mail", "held by 'ann' and 'cy'"),
        (
            "node:Seat",
            {"id": "north", "hall": "north", "day": date(1970, 1, 2)},
            "key_mismatch",
            None,
            """gives is '["1","north"]'""",
        ),
        ("node:Note", {"id": "n", "text": "y"}, "duplicate_id", None, "several rows have this id"),
        (RENTED, {"id": "r2", "src": "ann", "dst": "SF-1"}, "unique", None, "@unique violation on Rented.(dst, src)"),
        ("edge:Follows", {"id": "f1", "src": "bo", "dst": "bo"}, "duplicate_id", None, "several rows have this id"),
        ("edge:Follows", {"id": "f2", "src": "zed", "dst": "bo"}, "orphan_edge", "src", "'zed' not found in Person"),
        ("edge:Follows", {"id": "f2", "src": "bo", "dst": "zed"}, "orphan_edge", "dst", "'zed' not found in Person"),
        ("edge:Married", {"id": "m2", "src": "ann", "dst": "ann"}, "cardinality", "src", "'ann' has 2 edges (max 1)"),
        ("edge:Pairs", {"id": "p3", "src": "DR-2", "dst": "DR-2"}, "cardinality", "src", "'DR-2' has 1 edges (min 2)"),
    ],
)
def test_a_row_that_breaks_a_rule_is_found(
    graph: Repository, key: str, row: Mapping[str, Any], kind: str, property_: str | None, said: str
):
    write(graph, {key: appending(row)})
    found = only(graph)
    assert (found.kind, found.type_key, found.property) == (kind, key, property_)
    assert said in found.message
    if kind != "cardinality":
        assert found.id == row["id"]
    assert found.is_damage


def test_a_null_where_none_may_be_is_found(graph: Repository, monkeypatch: pytest.MonkeyPatch):
    # The table layer refuses to write one, so it is read instead.
    read = LanceTables.read

    def read_nulls(self: LanceTables, handle: Any, **options: Any) -> pa.RecordBatchReader:
        rows = read(self, handle, **options).read_all()
        if "text" in rows.schema.names:
            rows = rows.set_column(rows.schema.get_field_index("text"), "text", pa.nulls(rows.num_rows, pa.string()))
        return rows.to_reader()

    monkeypatch.setattr(LanceTables, "read", read_nulls)
    found = only(graph)
    assert (found.kind, found.type_key, found.id, found.property) == ("required", "node:Note", "n", "text")


def test_edges_whose_node_is_gone_are_found_and_sources_that_are_gone_need_no_edges(graph: Repository):
    write(graph, {FILM: removing("SF-1")})
    found = [(each.kind, each.type_key, each.id, each.property) for each in check_integrity(graph)]
    assert found == [
        ("orphan_edge", "edge:Pairs", "p1", "src"),
        ("orphan_edge", "edge:Pairs", "p2", "src"),
        ("orphan_edge", "edge:Pairs", "p2", "dst"),
        ("orphan_edge", "edge:Rented", "r1", "dst"),
    ]


def test_a_source_that_lost_an_edge_is_found(graph: Repository):
    write(graph, {"edge:Pairs": removing("p2")})
    assert only(graph).message == "@card violation on edge Pairs: source 'SF-1' has 1 edges (min 2)"


def test_everything_is_told_at_once_and_of_many_only_the_first(graph: Repository):
    bad = [{"id": f"n{number}", "code": f"n{number}"} for number in range(5)]
    write(graph, {FILM: appending(*bad, {"id": "SF-1", "code": "SF-1"})})
    assert [each.kind for each in damage(graph)] == ["check"] * 5 + ["duplicate_id"]
    few = damage(graph, limit=2)
    assert [each.kind for each in few] == ["check"] * 3 + ["duplicate_id"]
    assert few[2].message == "node:Film: 3 more of this kind"
    assert few[2].id is None


def publish_pin(
    repository: Repository, key: str, change: Callable[[TablePin, TableState], tuple[TablePin, TableState]]
):
    """A commit that pins something else than what there is, without the publish path around it."""
    log = repository.newest()
    target = repository.snapshot(log).schema.tables[key]
    pin = log.state.entries[key].pin
    pin, state = change(pin, repository.tables.table_state(repository.tables.open_at(pin)))
    log.publish(log.stage(commit_after(log), [pin_row(key, target.identity, pin, state, log.version + 1)]))


@pytest.mark.parametrize("said", [0, 3])
def test_a_number_of_rows_that_is_not_the_manifest_s_is_found_and_misleads_nothing_else(graph: Repository, said: int):
    publish_pin(
        graph, PERSON, lambda pin, state: (pin, TableState(row_count=said, version_metadata=state.version_metadata))
    )
    found = only(graph)
    assert (found.kind, found.type_key, found.expected, found.actual) == ("row_count", PERSON, said, 2)


def test_a_pin_of_a_version_that_is_not_there_is_found(graph: Repository):
    publish_pin(graph, PERSON, lambda pin, state: (TablePin(location=pin.location, branch=None, version=99), state))
    found = only(graph)
    assert (found.kind, found.type_key) == ("unreadable", PERSON)


def test_a_version_that_was_removed_is_found_by_a_handle_that_has_it_open(tmp_path: Path):
    graph = filled(new_graph(disk_adapter(tmp_path), SCHEMA))
    assert check_integrity(graph) == ()
    pin = graph.newest().state.entries[PERSON].pin
    (tmp_path / pin.location / manifest_name(pin.version)).unlink()
    assert [(each.kind, each.type_key) for each in check_integrity(graph)] == [("unreadable", PERSON)]


def test_rows_that_cannot_be_read_are_found(tmp_path: Path):
    graph = filled(new_graph(disk_adapter(tmp_path), SCHEMA))
    for file in (tmp_path / graph.newest().state.entries[FILM].pin.location / "data").iterdir():
        file.unlink()
    assert [(each.kind, each.type_key) for each in check_integrity(graph)] == [("unreadable", FILM)]


def test_a_store_that_does_not_answer_is_no_finding(graph: Repository, monkeypatch: pytest.MonkeyPatch):
    def fail(self: LanceTables, pin: TablePin) -> Any:
        raise StorageError("no answer", condition=StorageCondition.TRANSIENT)

    monkeypatch.setattr(LanceTables, "open_at", fail)
    with pytest.raises(StorageError, match="no answer"):
        check_integrity(graph)


def test_a_branch_that_is_not_there_is_not_found(graph: Repository):
    with pytest.raises(NotFoundError):
        check_integrity(graph, "nowhere")


def test_a_history_that_is_no_line_is_found(graph: Repository):
    publish_bare(graph.newest(), parent_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    found = check_integrity(graph)
    assert {each.kind for each in found} == {FindingKind.HISTORY}
    assert any("history is no line" in each.message for each in found)
    assert any("unknown parent: 01ARZ3NDEKTSV4RRFFQ69G5FAV" in each.message for each in found)


def test_a_commit_that_did_not_lead_to_the_head_is_found(graph: Repository, monkeypatch: pytest.MonkeyPatch):
    lineage = ManifestLog.lineage
    astray = Commit(
        id="01ARZ3NDEKTSV4RRFFQ69G5FAV",
        parent_id=graph.newest().state.head.id,
        branch="x",
        line="bx",
        manifest_version=graph.newest().version + 1,
        kind=CommitKind.DATA,
        created_at=graph.newest().state.head.created_at,
    )
    monkeypatch.setattr(ManifestLog, "lineage", lambda self: {**lineage(self), astray.id: astray})
    assert only(graph).message == f"commits did not lead to the head: ['{astray.id}']"


def test_a_head_that_is_not_the_newest_commit_is_found(graph: Repository, monkeypatch: pytest.MonkeyPatch):
    commits = ManifestLog.commits
    monkeypatch.setattr(ManifestLog, "commits", lambda self: commits(self)[1:])
    assert "and the head is" in only(graph).message


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def add_person(repository: Repository, name: str, branch: str = "main"):
    record = {"type": "Person", "data": {"handle": name}}
    load(repository, [record], LoadRequest(mode=parse_mode("append"), branch=branch))


@pytest.fixture
def branched(graph: Repository) -> Repository:
    """A branch with two commits that were merged, one that was not, and a branch of that branch that wrote nothing."""
    make_branch(graph, "x", graph.newest())
    add_person(graph, "cy", "x")
    add_person(graph, "di", "x")
    add_person(graph, "ed")
    merge_branch(graph, MergeRequest(source="x", into="main"))
    add_person(graph, "flo", "x")
    make_branch(graph, "y", graph.newest("x"))
    return graph


def test_branches_and_what_was_merged_have_no_findings(branched: Repository):
    assert {name: check_integrity(branched, name) for name in ("main", "x", "y")} == {"main": (), "x": (), "y": ()}


def test_a_branch_is_not_behind_because_another_one_moved_on_that_it_shares_a_type_with(branched: Repository):
    load(branched, [{"type": "Note", "data": {"id": "m", "text": "y"}}], LoadRequest(mode=parse_mode("append")))
    add_person(branched, "gil", "x")
    assert check_integrity(branched, "x") == check_integrity(branched, "y") == ()


def test_what_is_wrong_on_a_branch_is_found_there_and_not_on_main(branched: Repository):
    log, tables = branched.newest("x"), branched.tables
    target = branched.snapshot(log).schema.tables[PERSON]
    pin = log.state.entries[PERSON].pin
    twice = appending({"id": "ann", "handle": "ann"})(branched, pin, target)
    made = tables.commit_exact(tables.open_at(pin), [twice])
    row = pin_row(PERSON, target.identity, made.pin, tables.table_state(made), log.version + 1)
    log.publish(log.stage(commit_after(log, branch="x", line=log.branch.physical), [row]))
    assert [(each.kind, each.id) for each in check_integrity(branched, "x")] == [("duplicate_id", "ann")]
    assert check_integrity(branched) == ()


# ── what hurts nobody ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_losing_writer_left_on_a_table_is_told_with_both_versions_and_is_no_damage(graph: Repository):
    other = another_handle(graph)
    pin = other.newest().state.entries[PERSON].pin
    target = other.snapshot(other.newest()).schema.tables[PERSON]
    handle = other.tables.open_at(pin)
    other.tables.commit_exact(handle, [appending({"id": "ann", "handle": "zed"})(other, pin, target)])
    found = only(graph)
    assert (found.kind, found.type_key) == ("head_ahead", PERSON)
    assert (found.expected, found.actual) == (pin.version, pin.version + 1)
    assert not found.is_damage


def test_a_sidecar_is_told_and_is_no_damage(graph: Repository):
    graph.adapter.write(graph.adapter.key("__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json"), b"{}")
    found = only(graph)
    assert found.kind is FindingKind.SIDECAR
    assert "__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json" in found.message
    assert not found.is_damage


def test_a_finding_travels_and_is_json(graph: Repository):
    write(graph, {"node:Note": appending({"id": "n", "text": "y"})})
    found = only(graph)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.to_dict() == {
        "kind": "duplicate_id",
        "is_damage": True,
        "message": "Note 'n': several rows have this id",
        "type_key": "node:Note",
        "id": "n",
    }


def test_looking_changes_nothing_and_disturbs_no_open_handle(graph: Repository):
    before = graph.newest()
    check_integrity(graph)
    assert graph.newest() is before
    assert graph.tables.count_rows(graph.tables.open_at(before.state.entries[PERSON].pin)) == 2
