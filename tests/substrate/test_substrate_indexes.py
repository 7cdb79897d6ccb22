"""Indexes are staged like data, and reads are right with them, beyond them and without them (DESIGN 6, 12; P7, P13-15).

create_index_uncommitted(fragment_ids=…) ──> CreateIndex          BTREE, IVF_FLAT
create_index_uncommitted ── merge_existing_index_segments ──>     INVERTED, which is unreadable without that step
the same name with replace=True over uncovered fragments          a delta segment beside the old one
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from lance import LanceOperation, Transaction
from substrate_people import (
    KINDS,
    covered,
    created,
    found,
    indexed,
    is_served,
    names,
    people,
    segments,
    stage_index,
    uncovered_rows,
    vector,
)
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    promote,
    stage_append,
    stage_delete_keys,
    stage_upsert,
    versions,
)


@pytest.fixture(autouse=True)
def _centroids_stay_out_of_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")


@pytest.mark.parametrize("kind", KINDS)
def test_a_staged_index_moves_nothing_and_serves_its_detached_and_its_promoted_version(place: Place, kind: str):
    base = place.create(people(*range(40)))
    staged = created(base, stage_index(base, kind))
    assert (versions(place.open()), names(place.open())) == ([1], [])
    detached = commit_detached(base, staged)
    promoted = promote(base, detached)
    for dataset in (detached, place.open(promoted.version)):
        assert names(dataset) == [kind.lower()]
        assert is_served(dataset, kind)
        assert found(dataset, kind, 7) == ["k7"]
    assert names(place.open(1)) == []


def test_several_indexes_come_in_one_commit(place: Place):
    dataset = indexed(place, *KINDS)
    assert (dataset.version, names(dataset)) == (2, sorted(kind.lower() for kind in KINDS))
    assert all(is_served(dataset, kind) for kind in KINDS)


def test_a_text_index_committed_without_the_merge_step_breaks_every_search(place: Place):
    base = place.create(people(*range(40)))
    raw = base.create_index_uncommitted("text", "INVERTED", name="inverted", fragment_ids=[0])
    dataset = commit(base, created(base, raw))
    with pytest.raises(Exception, match=r"tokens\.lance"):
        found(dataset, "INVERTED", 7)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_no_index_covers_are_found(place: Place, kind: str):
    base = indexed(place, kind)
    tailed = commit(base, stage_append(base, people(100, 101)))
    assert uncovered_rows(tailed, kind) == 2
    assert [found(tailed, kind, key) for key in (7, 101)] == [["k7"], ["k101"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_delta_segment_covers_the_tail_and_keeps_the_old_segment(place: Place, kind: str):
    base = indexed(place, kind)
    tailed = commit(base, stage_append(base, people(100, 101)))
    tail = [each.fragment_id for each in tailed.get_fragments()][1:]
    options = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
    staged = created(tailed, stage_index(tailed, kind, tail, replace=True, **options))
    assert place.open().version == tailed.version
    after = commit(tailed, staged)
    assert uncovered_rows(after, kind) == 0
    assert len(after.describe_indices()[0].segments) == 2
    assert [found(place.open(), kind, key) for key in (7, 101)] == [["k7"], ["k101"]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_the_same_name_needs_replace(place: Place, kind: str):
    base = indexed(place, kind)
    with pytest.raises(RuntimeError, match="already exists"):
        stage_index(base, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_is_rebuilt_by_a_commit_that_names_the_old_one_as_removed(place: Place, kind: str):
    base = place.create(people(*range(40)))
    old = stage_index(base, kind)
    base = commit(base, created(base, old))
    new = stage_index(base, kind, replace=True)
    after = commit(base, Transaction(base.version, LanceOperation.CreateIndex([new], [old])))
    assert [each.uuid for each in after.describe_indices()[0].segments] == [new.uuid]
    assert found(place.open(), kind, 7) == ["k7"]


@pytest.mark.parametrize("kind", KINDS)
def test_segments_are_dropped_by_a_commit_that_adds_none(place: Place, kind: str):
    base = commit(indexed(place, kind), stage_append(place.open(), people(100, 101)))
    options = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
    base = commit(base, created(base, stage_index(base, kind, [1], replace=True, **options)))
    both = segments(base, kind.lower())
    of_tail = [each for each in both if set(each.fragment_ids) == {1}]
    fewer = commit(base, created(base, removed=of_tail))
    none = promote(fewer, commit_detached(base, created(base, removed=both)))
    for version, left in ((fewer.version, [[0]]), (none.version, [])):
        dataset = place.open(version)
        assert covered(dataset, kind.lower()) == left
        assert [found(dataset, kind, key) for key in (7, 101)] == [["k7"], ["k101"]]


@pytest.mark.parametrize("kind", ["INVERTED", "IVF_FLAT"])
def test_a_second_segment_over_covered_fragments_panics(disk: Place, kind: str):
    """A panic of Rust is a BaseException; no version appears. ``replace=True`` alone replaces nothing."""
    base = indexed(disk, kind)
    with pytest.raises(BaseException, match="not implemented") as caught:
        commit(base, created(base, stage_index(base, kind, replace=True)))
    assert not isinstance(caught.value, Exception)
    assert disk.open().version == base.version


@pytest.mark.parametrize("kind", KINDS)
def test_updated_and_deleted_rows_are_never_served_from_an_index(place: Place, kind: str):
    base = indexed(place, kind)
    changed = people(107).set_column(0, "id", pa.array(["k7"]))
    after = commit(base, stage_upsert(base, changed))
    after = commit(after, stage_delete_keys(after, 8))
    assert found(after, kind, 8) != ["k8"]
    if kind == "BTREE":
        assert after.to_table(filter="id = 'k7'")["text"].to_pylist() == ["word107 common"]
    else:
        assert found(after, kind, 7) != ["k7"]
        assert found(after, kind, 107) == ["k7"]


@pytest.mark.parametrize("kind", KINDS)
def test_reads_are_right_without_any_index(place: Place, kind: str):
    dataset = place.create(people(*range(40)))
    assert found(dataset, kind, 7) == ["k7"]
    assert dataset.describe_indices() == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_on_an_empty_table_serves_rows_that_come_later(place: Place, kind: str):
    base = place.commit_create(LanceOperation.Overwrite(people().schema, []))
    options = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
    after = commit(base, created(base, stage_index(base, kind, [], **options)))
    after = commit(after, stage_append(after, people(1, 2, 3)))
    assert found(after, kind, 2) == ["k2"]


def test_a_btree_and_a_text_index_share_a_column(place: Place):
    """P14: equality by the one, text search by the other."""
    base = indexed(place, "INVERTED")
    tree = base.create_index_uncommitted("text", "BTREE", name="text_btree", fragment_ids=[0])
    after = commit(base, created(base, tree))
    assert names(after) == ["inverted", "text_btree"]
    assert "text_btree" in after.scanner(filter="text = 'word7 common'").explain_plan()
    assert after.count_rows("text = 'word7 common'") == 1
    assert is_served(after, "INVERTED")
    assert found(after, "INVERTED", 7) == ["k7"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_and_a_branch_of_it_use_the_indexes_of_their_parent(place: Place, kind: str):
    """P13."""
    base = indexed(place, kind)
    base.create_branch("b1", base.version)
    first = place.open(base.version, branch="b1")
    first = commit(first, stage_append(first, people(100)))
    first.create_branch("b2", first.version)
    second = place.open(first.version, branch="b2")
    second = commit(second, stage_append(second, people(101)))
    for dataset, tail in ((first, 100), (second, 101)):
        assert is_served(dataset, kind)
        assert [found(dataset, kind, key) for key in (7, tail)] == [["k7"], [f"k{tail}"]]


def test_a_search_with_a_filter_filters_first_only_when_told(place: Place):
    dataset = indexed(place, "IVF_FLAT")
    nearest = {"column": "vector", "q": vector(7), "k": 1, "nprobes": 2}
    behind = dataset.to_table(columns=["id"], nearest=nearest, filter="id = 'k9'")
    before = dataset.to_table(columns=["id"], nearest=nearest, filter="id = 'k9'", prefilter=True)
    assert (behind["id"].to_pylist(), before["id"].to_pylist()) == ([], ["k9"])
