"""Search through the table layer: the same rows whatever an index covers, filters first, ties never cut in two."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.errors import InternalError, StorageError
from omnigraph.tables import searching
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.row_filters import Compared, OneOf

DIMENSION = 6
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("day", pa.date32()),
        pa.field("text", pa.string()),
        pa.field("u", pa.uint64()),
        pa.field("v", pa.list_(pa.field("item", pa.float32()), DIMENSION)),
        pa.field("when", pa.date64()),
    ]
)
TEXT = IndexSpec(column="text", kind="inverted", name="text_inverted")
VECTOR = IndexSpec(column="v", kind="vector", name="v_vector")
TREE = IndexSpec(column="day", kind="btree", name="day_btree")
LARGE = 2**63


class Rows:
    """Rows and what is known of them, so that answers can be worked out in plain Python."""

    def __init__(self, count: int, seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.ids = [f"k{each:03d}" for each in range(count)]
        self.vectors = [
            None if each % 5 == 0 else random.normal(size=DIMENSION).astype(np.float32) for each in range(count)
        ]
        self.texts = [None if each % 7 == 0 else f"word{each % 11} common{each % 3}" for each in range(count)]
        self.numbers = [None if each % 4 == 0 else LARGE + each for each in range(count)]

    def table(self, start: int, stop: int) -> pa.Table:
        part = slice(start, stop)
        columns = [
            self.ids[part],
            pa.array([each % 10 for each in range(start, stop)], pa.date32()),
            self.texts[part],
            pa.array(self.numbers[part], pa.uint64()),
            pa.array([None if each is None else each.tolist() for each in self.vectors[part]], SCHEMA.field("v").type),
            pa.array([each % 10 * 1_000 for each in range(start, stop)], pa.date64()),
        ]
        return pa.table(columns, schema=SCHEMA)

    def nearest(self, wanted, count: int, keep=lambda number: True) -> list[tuple[str, float]]:
        found = []
        for number, vector in enumerate(self.vectors):
            if vector is None or not keep(number):
                continue
            a, b = [float(each) for each in vector], [float(each) for each in wanted]
            similar = math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
            found.append((1.0 - similar, self.ids[number]))
        return [(name, distance) for distance, name in sorted(found)[:count]]


def build(tables, coverage: str):
    """The same 120 rows under each coverage; rows 0..9 were deleted."""
    rows = Rows(120)
    handle = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, rows.table(0, 80)))

    def indexed(*specs: IndexSpec):
        return tables.commit_exact(handle, [tables.stage_indexes(handle, specs)])

    if coverage in ("part", "two segments"):
        handle = indexed(TEXT, VECTOR, TREE)
    handle = tables.commit_exact(handle, [tables.stage_append(handle, rows.table(80, 120))])
    if coverage in ("all", "two segments"):
        handle = indexed(TEXT, VECTOR, TREE)
    if coverage == "none":
        handle = indexed(TREE)
    return tables.commit_exact(handle, [tables.stage_delete_keys(handle, pa.array(rows.ids[:10]))]), rows


@pytest.fixture(params=["none", "part", "all", "two segments"])
def searched(request, tables):
    return build(tables, request.param)


@pytest.fixture(params=["part", "all", "two segments"])
def texts(request, tables):
    return build(tables, request.param)


PREDICATES = {
    "none": (None, lambda number: True),
    "indexed": (Compared("day", "=", pa.scalar(3, pa.date32())), lambda number: number % 10 == 3),
    "plain": (Compared("id", "<", pa.scalar("k040")), lambda number: number < 40),
    "unsigned": (Compared("u", ">", pa.scalar(LARGE + 60, pa.uint64())), lambda number: number % 4 and number > 60),
    "date64": (Compared("when", "=", pa.scalar(3_000, pa.date64())), lambda number: number % 10 == 3),
    "nothing": (Compared("id", "=", pa.scalar("x")), lambda number: False),
}


# ── vectors ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PREDICATES)
def test_the_nearest_rows_are_those_of_the_whole_truth(name, tables, searched):
    handle, rows = searched
    predicate, keep = PREDICATES[name]
    wanted = np.random.default_rng(8).normal(size=DIMENSION).astype(np.float32)
    for count in (1, 7, 500):
        expected = rows.nearest(wanted, count, lambda number: number >= 10 and keep(number))
        found = tables.nearest(handle, "v", wanted, count, columns=["id"], predicate=predicate)
        assert found.schema.names == ["id", "_distance"]
        assert found.schema.field("_distance").type == pa.float64()
        assert found["id"].to_pylist() == [each for each, _ in expected]
        assert found["_distance"].to_pylist() == pytest.approx([each for _, each in expected], abs=1e-12)


def test_columns_come_in_the_order_asked_for_with_the_vector_or_without(tables, searched):
    handle, rows = searched
    found = tables.nearest(handle, "v", rows.vectors[81], 1, columns=["v", "id"])
    assert found.schema.names == ["v", "id", "_distance"]
    assert found.to_pylist() == [{"v": rows.vectors[81].tolist(), "id": "k081", "_distance": 0.0}]
    assert tables.nearest(handle, "v", rows.vectors[81], 1, columns=[]).schema.names == ["_distance"]


@pytest.mark.parametrize("count", [0, -1])
def test_no_rows_are_asked_for_and_none_come(count, tables, searched):
    handle, rows = searched
    assert len(tables.nearest(handle, "v", rows.vectors[1], count, columns=["id"])) == 0


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("predicate", [None, Compared("u", ">=", pa.scalar(0, pa.uint64()))], ids=["plain", "refused"])
def test_all_that_are_as_near_as_the_last_come_along(predicate, is_indexed, tables):
    rows = Rows(90)
    same = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    rows.vectors = [np.array(same if each % 2 else [-1.0, *same[1:]], np.float32) for each in range(90)]
    rows.numbers = list(range(90))
    handle = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, rows.table(0, 90)))
    if is_indexed:
        handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [VECTOR])])
    found = tables.nearest(handle, "v", same, 3, columns=["id"], predicate=predicate)
    assert found["id"].to_pylist() == rows.ids[1::2]
    assert len(set(found["_distance"].to_pylist())) == 1
    more = tables.nearest(handle, "v", same, 46, columns=["id"], predicate=predicate)
    assert more["id"].to_pylist() == rows.ids[1::2] + rows.ids[::2]


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("predicate", [None, Compared("u", ">=", pa.scalar(0, pa.uint64()))], ids=["plain", "refused"])
def test_a_vector_without_direction_is_never_near(predicate, is_indexed, tables):
    rows = Rows(6)
    rows.vectors[2] = np.zeros(DIMENSION, np.float32)
    rows.vectors[3] = np.array([np.nan, *range(1, DIMENSION)], np.float32)
    rows.numbers = list(range(6))
    handle = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, rows.table(0, 6)))
    if is_indexed:
        handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [VECTOR])])
    found = tables.nearest(handle, "v", rows.vectors[1], 9, columns=["id"], predicate=predicate)
    assert found["id"].to_pylist()[0] == "k001"
    assert set(found["id"].to_pylist()) == {"k001", "k004"}


def test_an_index_in_many_partitions_is_exact(tables, monkeypatch):
    monkeypatch.setattr("omnigraph.tables.indexing._ROWS_PER_PARTITION", 4)
    rows = Rows(600)
    handle = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, rows.table(0, 600)))
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [VECTOR])])
    random = np.random.default_rng(9)
    for _ in range(5):
        wanted = random.normal(size=DIMENSION).astype(np.float32)
        found = tables.nearest(handle, "v", wanted, 15, columns=["id"])["id"].to_pylist()
        assert found == [each for each, _ in rows.nearest(wanted, 15)]


def test_an_index_too_large_to_be_searched_whole_finds_nearly_the_same(tables, monkeypatch):
    monkeypatch.setattr(searching, "EXACT_ROWS", 200)
    monkeypatch.setattr("omnigraph.tables.indexing._ROWS_PER_PARTITION", 4)
    rows = Rows(1_000)
    handle = tables.commit_create(tables.stage_create("nodes/doc", SCHEMA, rows.table(0, 1_000)))
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [VECTOR])])
    hits = 0
    for number in range(1, 100, 10):
        wanted = rows.vectors[number]
        found = tables.nearest(handle, "v", wanted, 10, columns=["id"])["id"].to_pylist()
        assert found[0] == rows.ids[number]
        hits += len(set(found) & {each for each, _ in rows.nearest(wanted, 10)})
    assert hits >= 80
    # A filter that leaves few rows does not leave them out: more of the index is searched.
    few = OneOf("id", pa.array(["k001", "k502", "k903"]))
    assert len(tables.nearest(handle, "v", rows.vectors[999], 3, columns=["id"], predicate=few)) == 3


def test_a_vector_of_another_length_is_refused(tables, searched):
    with pytest.raises(StorageError):
        tables.nearest(searched[0], "v", [1.0, 2.0], 1, columns=["id"])


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def has(rows: Rows, number: int, *words: str) -> bool:
    return number >= 10 and rows.texts[number] is not None and bool(set(rows.texts[number].split()) & set(words))


@pytest.mark.parametrize("name", PREDICATES)
def test_a_text_search_finds_every_row_with_one_of_the_words(name, tables, texts):
    handle, rows = texts
    predicate, keep = PREDICATES[name]
    for words in (("word3",), ("word3", "common1"), ("zzz",)):
        found = tables.search_text(handle, "text", " ".join(words), columns=["id"], predicate=predicate)
        assert found.schema.names == ["id", "_score"]
        assert found.schema.field("_score").type == pa.float64()
        expected = {rows.ids[each] for each in range(120) if has(rows, each, *words) and keep(each)}
        assert set(found["id"].to_pylist()) == expected
        assert len(found) == len(expected)
        scores = found["_score"].to_pylist()
        assert scores == sorted(scores, reverse=True)
        assert all(each > 0 for each in scores)


@pytest.mark.parametrize("name", ["none", "plain", "unsigned"])
def test_a_limit_keeps_the_best_and_their_equals(name, tables, texts):
    handle, _ = texts
    predicate, _ = PREDICATES[name]
    everything = tables.search_text(handle, "text", "word3 common1", columns=["id"], predicate=predicate).to_pylist()
    for limit in (1, 2, 9, 30, 500):
        found = tables.search_text(
            handle, "text", "word3 common1", columns=["id"], predicate=predicate, limit=limit
        ).to_pylist()
        last = everything[min(limit, len(everything)) - 1]["_score"]
        assert found == [each for each in everything if each["_score"] >= last]
    assert len(tables.search_text(handle, "text", "word3", columns=["id"], limit=0)) == 0


def test_nothing_in_a_query_is_syntax(tables, texts):
    handle, rows = texts
    expected = {rows.ids[each] for each in range(120) if has(rows, each, "word3")}
    for query in ('+word3 -common1 "', "word3' OR 1=1 --", "text:word3~2*", "{word3}", "word3\n\x00"):
        found = tables.search_text(handle, "text", query, columns=["id"])["id"].to_pylist()
        assert expected <= set(found)
        assert "common1" in query or set(found) == expected


def test_a_text_search_needs_its_index(tables):
    handle, _ = build(tables, "none")
    with pytest.raises(InternalError, match="no inverted index on text"):
        tables.search_text(handle, "text", "word3", columns=["id"])


def test_a_search_says_nothing_on_the_side(tables, texts, capfd):
    handle, rows = texts
    tables.nearest(handle, "v", rows.vectors[1], 2, columns=["id"])
    tables.search_text(handle, "text", "word3", columns=["id"], limit=2)
    assert capfd.readouterr() == ("", "")
