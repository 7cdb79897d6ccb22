"""Rows that take the place of others whose addresses are known, by an Update that is built by hand.

new fragment        the rows, with the row ids of those they replace at its head; the others get theirs with the commit
updated fragments   as the version has them, with more rows marked as deleted
removed fragments   those of which no row is left

Nothing is searched or read for it, which is what distinguishes it from Lance's merge.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.commit import CommitConflictError
from lance.fragment import RowIdSequence
from substrate_people import KINDS, covered, found, indexed, is_served, people
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    promote,
    row_ids,
    row_ids_of,
    rows,
    stage_append,
    stage_delete,
    stage_replace,
    stamps,
    values,
)


def grown(place: Place) -> LanceDataset:
    """Two fragments, k1 k2 k3 | k4."""
    base = place.create(rows(1, 2, 3))
    return commit(base, stage_append(base, rows(4)))


def at(fragment: int, offset: int) -> int:
    return fragment << 32 | offset


def numbers(dataset: LanceDataset) -> list[int]:
    return [each.fragment_id for each in dataset.get_fragments()]


def test_rows_that_replace_keep_their_row_ids_and_the_others_get_new_ones(place: Place):
    base = grown(place)
    before = row_ids(base)
    after = commit(base, stage_replace(base, rows(3, 1, 9, value="b"), [at(0, 2), at(0, 0)]))
    assert values(place.open()) == {"k1": "b", "k2": "a", "k3": "b", "k4": "a", "k9": "b"}
    given = row_ids(after)
    assert {key: given[key] for key in before} == before
    assert given["k9"] not in before.values()
    assert row_ids_of(after, 2) == [before["k3"], before["k1"], given["k9"]]


def test_rows_that_replace_are_created_when_they_were_and_updated_now(place: Place):
    base = grown(place)
    after = commit(base, stage_replace(base, rows(4, 1, 9, value="b"), [at(1, 0), at(0, 0)]))
    assert after.version == 3
    assert stamps(after) == {"k1": (1, 3), "k2": (1, 1), "k3": (1, 1), "k4": (2, 3), "k9": (3, 3)}
    again = commit(after, stage_replace(after, rows(1, value="c"), [at(2, 1)]))
    assert stamps(again) == {"k1": (1, 4), "k2": (1, 1), "k3": (1, 1), "k4": (2, 3), "k9": (3, 3)}


def test_a_fragment_without_a_row_left_is_removed(place: Place):
    base = grown(place)
    after = commit(base, stage_replace(base, rows(4, value="b"), [at(1, 0)]))
    assert numbers(after) == [0, 2]
    whole = commit(after, stage_replace(after, rows(1, 2, 3, value="c"), [at(0, 0), at(0, 1), at(0, 2)]))
    assert numbers(whole) == [2, 3]
    assert values(whole) == {"k1": "c", "k2": "c", "k3": "c", "k4": "b"}
    assert row_ids(whole) == row_ids(base)


def test_the_same_comes_of_a_detached_commit_and_its_promotion(place: Place):
    base = grown(place)
    staged = stage_replace(base, rows(4, 1, 9, value="b"), [at(1, 0), at(0, 0)])
    rival = commit(base, stage_append(base, rows(66)))
    detached = commit_detached(base, staged)
    promoted = promote(rival, detached)
    for dataset in (detached, place.open(promoted.version)):
        assert values(dataset) == {"k1": "b", "k2": "a", "k3": "a", "k4": "b", "k9": "b"}
        assert {key: row_ids(dataset)[key] for key in ("k1", "k4")} == {key: row_ids(base)[key] for key in ("k1", "k4")}
        assert stamps(dataset) == {"k1": (1, 3), "k2": (1, 1), "k3": (1, 1), "k4": (2, 3), "k9": (3, 3)}
    assert values(place.open(rival.version))["k1"] == "a"


def test_two_that_replace_rows_of_one_fragment_conflict(place: Place):
    base = grown(place)
    staged = [stage_replace(base, rows(key, value="b"), [at(0, key - 1)]) for key in (1, 2)]
    commit(base, staged[0])
    with pytest.raises(CommitConflictError):
        commit(base, staged[1])
    assert values(place.open())["k2"] == "a"


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_gives_the_rows_as_they_are_and_never_as_they_were(place: Place, kind: str):
    base = indexed(place, kind)
    # k7 gets the text and the vector of 107, and with BTREE, whose column is the id, the id too.
    key = "k107" if kind == "BTREE" else "k7"
    changed = people(107).set_column(0, "id", pa.array([key]))
    after = commit(base, stage_replace(base, changed, [at(0, 7)]))
    for dataset in (after, place.open(after.version)):
        assert is_served(dataset, kind)
        assert covered(dataset, kind.lower()) == [[0]]
        assert found(dataset, kind, 8) == ["k8"]
        assert found(dataset, kind, 107) == [key]
        assert found(dataset, kind, 7) != ["k7"]
    assert found(base, kind, 7) == ["k7"]


def test_an_index_does_not_hide_a_row_whose_id_it_knows(place: Place):
    """The row that replaces has the row id of an entry of the index, and another value."""
    base = indexed(place, "BTREE")
    after = commit(base, stage_replace(base, people(107).set_column(0, "id", pa.array(["k7"])), [at(0, 7)]))
    assert row_ids(after) == row_ids(base)
    assert after.to_table(filter="id = 'k7'")["text"].to_pylist() == ["word107 common"]
    assert after.to_table(filter="id in ('k6', 'k7')")["text"].to_pylist() == ["word6 common", "word107 common"]


@pytest.mark.parametrize("kind", ["INVERTED", "IVF_FLAT"])
def test_an_index_of_a_column_that_is_not_named_as_changed_gives_rows_as_they_were(place: Place, kind: str):
    """The trap: Lance counts the new fragment as covered, rows that are new in it too."""
    base = indexed(place, kind)
    changed = people(107, 200).set_column(0, "id", pa.array(["k7", "k200"]))
    after = commit(base, stage_replace(base, changed, [at(0, 7)], changed=[]))
    assert covered(after, kind.lower()) == [[0, 1]]
    assert found(after, kind, 7) == ["k7"]
    assert found(after, kind, 107) != ["k7"]
    assert found(after, kind, 200) != ["k200"]


# ── row ids in a manifest ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [1, 1_000_000])
def test_the_row_ids_of_a_fragment_are_known_without_reading_it(place: Place, count: int):
    base = place.create(pa.table({"n": [-1, -2]}))
    base = commit(base, stage_append(base, pa.table({"n": np.arange(count)})))
    first = base.get_fragment(1).metadata
    read = base.scanner(columns=["n"], with_row_id=True, fragments=[base.get_fragment(1)]).to_table()
    known = RowIdSequence.from_inline_metadata(first.row_id_meta).to_pyarrow()
    assert known.to_numpy().tolist() == read["_rowid"].to_numpy()[np.argsort(read["n"].to_numpy())].tolist()


def test_the_row_ids_of_deleted_rows_stay_at_their_offsets(place: Place):
    base = grown(place)
    before = row_ids_of(base, 0)
    after = commit(base, stage_delete(base, "id = 'k2'"))
    assert row_ids_of(after, 0) == before
    assert row_ids(after) == {"k1": before[0], "k3": before[2], "k4": row_ids(base)["k4"]}


@pytest.mark.parametrize("ids", [[5], [7, 3, 2**40, 4], list(range(1_000, 2_000)), list(range(100, 0, -1))])
def test_a_sequence_of_row_ids_comes_back_in_its_order(ids: list[int]):
    held = RowIdSequence(ids).to_inline_metadata()
    assert RowIdSequence.from_inline_metadata(held).to_pyarrow().to_pylist() == ids
