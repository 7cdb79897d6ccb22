"""Indexes are staged like everything else, and answer for rows that came before and after them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.errors import InternalError
from omnigraph.tables.interface import IndexSpec

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("v", pa.list_(pa.float32(), 2)),
    ]
)
SPECS = (
    IndexSpec(column="id", kind="btree", name="id_btree"),
    IndexSpec(column="text", kind="inverted", name="text_inverted"),
    IndexSpec(column="v", kind="vector", name="v_vector"),
)


def some(*names: str) -> pa.Table:
    vectors = [[float(ord(name[0])), 1.0] for name in names]
    texts = [f"hello {name}" for name in names]
    return pa.table([pa.array(names), pa.array(texts), pa.array(vectors, pa.list_(pa.float32(), 2))], schema=SCHEMA)


def coverage(handle) -> dict[str, list[list[int]]]:
    return {
        each.name: [sorted(part.fragment_ids) for part in each.segments] for each in handle.dataset.describe_indices()
    }


def found_by_text(handle, word: str) -> list[str]:
    return sorted(handle.dataset.to_table(columns=["id"], full_text_query=word)["id"].to_pylist())


@pytest.fixture
def base(tables):
    return tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, some("alpha", "beta")))


def test_three_kinds_of_index_are_one_version(tables, base):
    staged = tables.stage_indexes(base, SPECS)
    assert tables.indexes(base) == ()
    after = tables.commit_exact(base, [staged])
    assert after.pin.version == base.pin.version + 1
    assert tables.indexes(after) == SPECS
    assert "ScalarIndexQuery" in after.dataset.scanner(filter=pc.field("id") == "beta").explain_plan()
    assert found_by_text(after, "beta") == ["beta"]
    nearest = after.dataset.scanner(nearest={"column": "v", "q": [97.0, 1.0], "k": 1}).to_table()
    assert nearest["id"].to_pylist() == ["alpha"]


def test_a_later_build_covers_what_came_since_and_nothing_twice(tables, base):
    indexed = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    grown = tables.commit_exact(indexed, [tables.stage_append(indexed, some("gamma"))])
    assert found_by_text(grown, "gamma") == ["gamma"]
    again = tables.commit_exact(grown, [tables.stage_indexes(grown, SPECS)])
    assert coverage(again) == {name: [[0], [1]] for name in ("id_btree", "text_inverted", "v_vector")}
    assert found_by_text(again, "hello") == ["alpha", "beta", "gamma"]
    assert tables.lookup(again, pa.array(["alpha", "gamma"]), columns=["id"])["id"].to_pylist() == ["alpha", "gamma"]
    assert tables.stage_indexes(again, SPECS) is None


def test_an_index_is_promoted_past_what_another_writer_left(tables, base):
    staged = tables.stage_indexes(base, SPECS)
    tables.commit_exact(base, [tables.stage_append(base, some("foreign"))])
    after = tables.commit_exact(base, [staged])
    assert tables.indexes(after) == SPECS
    assert found_by_text(after, "hello") == ["alpha", "beta"]


def test_an_empty_table_can_be_indexed_and_finds_what_comes_later(tables):
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA))
    after = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    assert tables.indexes(after) == SPECS
    grown = tables.commit_exact(after, [tables.stage_append(after, some("alpha", "beta"))])
    assert found_by_text(grown, "beta") == ["beta"]
    assert len(tables.lookup(grown, pa.array(["alpha"]))) == 1


def test_rows_that_were_replaced_or_deleted_are_not_found_any_more(tables, base):
    indexed = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    changed = some("alpha").set_column(1, SCHEMA.field("text"), pa.array(["bye alpha"]))
    after = tables.commit_exact(
        indexed, [tables.stage_upsert(indexed, changed), tables.stage_delete_keys(indexed, pa.array(["beta"]))]
    )
    assert found_by_text(after, "hello") == []
    assert found_by_text(after, "bye") == ["alpha"]
    assert len(tables.lookup(after, pa.array(["beta"]))) == 0


def test_two_indexes_on_one_column_have_names_of_their_own(tables, base):
    specs = (IndexSpec(column="text", kind="btree", name="text_btree"), SPECS[1])
    after = tables.commit_exact(base, [tables.stage_indexes(base, specs)])
    assert tables.indexes(after) == specs


def test_an_unknown_kind_is_refused(tables, base):
    with pytest.raises(InternalError, match="bitmap"):
        tables.stage_indexes(base, [IndexSpec(column="id", kind="bitmap", name="x")])
