"""Indexes are staged like everything else, and answer for rows that came before and after them."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph.errors import InternalError
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import IndexSpec, TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_filters import Compared, as_expression

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
    beta = as_expression(Compared("id", "=", pa.scalar("beta")))
    assert "ScalarIndexQuery" in after.dataset.scanner(filter=beta).explain_plan()
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
    after = tables.commit_exact(base, [tables.stage_indexes(base, SPECS[:2])])
    assert tables.indexes(after) == SPECS[:2]
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


def test_a_tree_and_a_text_index_on_one_column_answer_each_its_own_kind_of_question(tables, base):
    text, tree = SPECS[1], IndexSpec(column="text", kind="btree", name="a_tree")
    for specs in ((text, tree), (tree, text)):
        after = base
        for spec in specs:
            after = tables.commit_exact(after, [tables.stage_indexes(after, [spec])])
        equal = Compared("text", "=", pa.scalar("hello beta"))
        assert "a_tree" in after.dataset.scanner(filter=as_expression(equal)).explain_plan()
        assert tables.count_rows(after, predicate=equal) == 1
        assert "MatchQuery" in after.dataset.scanner(full_text_query="beta").explain_plan()
        assert tables.search_text(after, "text", "beta", columns=["id"])["id"].to_pylist() == ["beta"]


def test_words_of_an_index_are_folded_stemmed_and_not_stop_words(tables):
    texts = ["The RUNNING dogs", "Crème brûlée", "to be or not to be", "it's naïve", None, ""]
    given = pa.table([pa.array("abcdef"), pa.array(texts), pa.nulls(6, SCHEMA.field("v").type)], schema=SCHEMA)
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, given))
    after = tables.commit_exact(base, [tables.stage_indexes(base, [SPECS[1]])])

    def search(query: str) -> list[str]:
        return sorted(tables.search_text(after, "text", query, columns=["id"])["id"].to_pylist())

    assert search("run dog") == search("Runs") == ["a"]
    assert search("creme") == search("BRÛLÉE") == ["b"]
    assert search("the") == search("to be") == search("") == []
    assert search("naive creme") == ["b", "d"]
    # Positions would be needed for phrases, which are not part of the language, and double the size.
    assert after.dataset.describe_indices()[0].details["with_position"] is False


# ── vectors that are missing ─────────────────────────────────────────────────────────────────────────────────────────


def docs(vectors: list) -> pa.Table:
    names = [f"k{each}" for each in range(len(vectors))]
    kind = SCHEMA.field("v").type
    return pa.table(
        [pa.array(names, pa.string()), pa.array(names, pa.string()), pa.array(vectors, kind)], schema=SCHEMA
    )


@pytest.mark.parametrize(
    "vectors",
    [[], [None], [None, None, None], [[0, 0], None], [[math.nan, 1]], [[None, 1]]],
    ids=["no rows", "one row", "three rows", "zero", "not a number", "a null in it"],
)
def test_a_vector_index_is_not_built_over_no_vectors(vectors, tables):
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, docs(vectors) if vectors else None))
    assert tables.count_vectors(base, "v") == 0
    assert tables.stage_indexes(base, [SPECS[2]]) is None
    after = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    assert tables.indexes(after) == SPECS[:2]
    assert tables.nearest(after, "v", [1.0, 0.0], 3, columns=["id"])["id"].to_pylist() == []


def test_vectors_of_some_rows_are_indexed_and_later_ones_added(tables):
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, docs([None, [1, 0], None, [0, 1]])))
    assert tables.count_vectors(base, "v") == 2
    after = tables.commit_exact(base, [tables.stage_indexes(base, [SPECS[2]])])
    assert tables.count_vectors(after, "v") == 0
    grown = tables.commit_exact(after, [tables.stage_append(after, docs([None, None]))])
    assert tables.count_vectors(grown, "v") == 0
    assert tables.stage_indexes(grown, [SPECS[2]]) is None
    more = tables.commit_exact(grown, [tables.stage_append(grown, docs([None, [3, 3]]))])
    assert tables.count_vectors(more, "v") == 1
    again = tables.commit_exact(more, [tables.stage_indexes(more, [SPECS[2]])])
    assert coverage(again) == {"v_vector": [[0], [1, 2]]}
    found = tables.nearest(again, "v", [1.0, 0.2], 9, columns=["v"])
    assert found["v"].to_pylist() == [[1, 0], [3, 3], [0, 1]]


@pytest.mark.parametrize("others", [None, [0, 0], [math.nan, 1]], ids=["none", "zero", "not a number"])
def test_few_vectors_among_many_rows_are_enough(others, tables, monkeypatch, capfd):
    """Lance would train on a sample, and find none of them."""
    monkeypatch.setattr("omnigraph.tables.indexing._ROWS_PER_PARTITION", 4)
    circle = [[math.cos(each / 10), math.sin(each / 10)] for each in range(20)]
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, docs([others] * 2_000 + circle)))
    after = tables.commit_exact(base, [tables.stage_indexes(base, [SPECS[2]])])
    assert tables.nearest(after, "v", circle[7], 1, columns=["id"])["id"].to_pylist() == ["k2007"]
    assert tables.count_vectors(base, "v") == 20
    assert capfd.readouterr() == ("", "")


def test_a_vector_in_several_partitions_is_found(tables, monkeypatch):
    monkeypatch.setattr("omnigraph.tables.indexing._ROWS_PER_PARTITION", 4)
    circle = [[math.cos(each / 50), math.sin(each / 50)] for each in range(300)]
    base = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, docs(circle)))
    after = tables.commit_exact(base, [tables.stage_indexes(base, [SPECS[2]])])
    for each in (0, 77, 299):
        assert tables.nearest(after, "v", circle[each], 1, columns=["id"])["id"].to_pylist() == [f"k{each}"]


# ── coverage ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def reach(tables, handle) -> dict[str, tuple[int, int]]:
    return {each.spec.name: (each.covered_rows, each.uncovered_rows) for each in tables.coverage(handle)}


def test_coverage_counts_the_rows_that_are_there(tables, base):
    assert tables.coverage(base) == ()
    indexed = tables.commit_exact(base, [tables.stage_indexes(base, SPECS[:2])])
    assert tuple(each.spec for each in tables.coverage(indexed)) == SPECS[:2]
    assert reach(tables, indexed) == {"id_btree": (2, 0), "text_inverted": (2, 0)}
    grown = tables.commit_exact(indexed, [tables.stage_append(indexed, some("gamma", "delta", "eps"))])
    assert reach(tables, grown) == {"id_btree": (2, 3), "text_inverted": (2, 3)}
    fewer = tables.commit_exact(grown, [tables.stage_delete_keys(grown, pa.array(["alpha", "eps"]))])
    assert reach(tables, fewer) == {"id_btree": (1, 2), "text_inverted": (1, 2)}
    changed = tables.commit_exact(fewer, [tables.stage_upsert(fewer, some("beta"))])
    assert reach(tables, changed) == {"id_btree": (0, 3), "text_inverted": (0, 3)}
    partly = tables.commit_exact(changed, [tables.stage_indexes(changed, SPECS[:1])])
    assert reach(tables, partly) == {"id_btree": (3, 0), "text_inverted": (0, 3)}


def test_an_overwrite_leaves_no_index_that_seems_to_cover_its_rows(tables, base):
    indexed = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    after = tables.commit_exact(indexed, [tables.stage_overwrite(indexed, some("gamma"))])
    assert all(each.covered_rows == 0 for each in tables.coverage(after))
    again = tables.commit_exact(after, [tables.stage_indexes(after, SPECS)])
    assert reach(tables, again) == {"id_btree": (1, 0), "text_inverted": (1, 0), "v_vector": (1, 0)}
    assert tables.search_text(again, "text", "hello", columns=["id"])["id"].to_pylist() == ["gamma"]
    assert tables.nearest(again, "v", [1.0, 1.0], 5, columns=["id"])["id"].to_pylist() == ["gamma"]


def test_coverage_is_asked_of_lance_once(tables, base):
    indexed = tables.commit_exact(base, [tables.stage_indexes(base, SPECS)])
    handle = LanceTables(tables._adapter).open_at(indexed.pin)
    with count_table_calls() as counts:
        first = tables.coverage(handle)
        assert tables.coverage(handle) == first
        assert tables.indexes(handle) == SPECS
        assert tables.count_vectors(handle, "v") == 0
    assert counts == {"indexes": 1}


def test_an_index_by_another_distance_is_not_taken_for_ours(tables, base, capfd):
    foreign = base.dataset.create_index_uncommitted("v", "IVF_FLAT", name="v_l2", fragment_ids=[0], num_partitions=1)
    made = LanceDataset.commit(base.dataset, LanceOperation.CreateIndex([foreign], []), read_version=1)
    handle = tables.open_at(TablePin(location="nodes/doc", branch=None, version=made.version))
    assert [each.kind for each in tables.indexes(handle)] == ["ivf_flat by l2"]
    assert tables.count_vectors(handle, "v") == 2
    assert tables.nearest(handle, "v", [97.0, 1.0], 1, columns=["id"])["id"].to_pylist() == ["alpha"]
    assert capfd.readouterr() == ("", "")


def test_an_unknown_kind_is_refused(tables, base):
    with pytest.raises(InternalError, match="bitmap"):
        tables.stage_indexes(base, [IndexSpec(column="id", kind="bitmap", name="x")])
