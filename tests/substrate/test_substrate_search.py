"""What Lance's searches do and do not do: why the engine scores texts itself and closes ties (substrate.md 7).

text      analysed only where an index says how; the tail is scored by statistics of its own
vectors   null and zero vectors are never near; with every partition probed IVF_FLAT is exact
trees     every scalar type of the language has one; Expressions cannot name unsigned integers and date64, SQL can
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, LanceOperation
from lance.query import FullTextOperator, MatchQuery
from substrate_steps import Place, commit, stage_append

ANALYSIS: dict[str, Any] = {
    "base_tokenizer": "simple",
    "lower_case": True,
    "ascii_folding": True,
    "stem": True,
    "language": "English",
    "remove_stop_words": True,
    "max_token_length": 40,
    "with_position": False,
}


def texts(*values: str | None) -> pa.Table:
    return pa.table({"id": [f"k{each}" for each in range(len(values))], "text": pa.array(values, pa.string())})


def with_index(dataset: LanceDataset, column: str, kind: str, **options: Any) -> LanceDataset:
    numbers = [each.fragment_id for each in dataset.get_fragments()]
    index = dataset.create_index_uncommitted(column, kind, name=f"{column}_{kind}", fragment_ids=numbers, **options)
    if kind == "INVERTED":
        index = dataset.merge_existing_index_segments([index])
    return LanceDataset.commit(dataset, LanceOperation.CreateIndex([index], []), read_version=dataset.version)


def with_text_index(dataset: LanceDataset) -> LanceDataset:
    return with_index(dataset, "text", "INVERTED", **ANALYSIS)


def matching(dataset: LanceDataset, query: str, **keywords: Any) -> dict[str, float]:
    words = MatchQuery(query, "text", operator=FullTextOperator.OR, **keywords)
    found = dataset.scanner(columns=["id", "_score"], full_text_query=words).to_table()
    return dict(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "query"),
    [("Running dogs", "run"), ("crème", "creme"), ("creme", "crème")],
    ids=["stemming", "folding a text", "folding a query"],
)
def test_text_is_analysed_only_where_an_index_says_how(place: Place, text: str, query: str):
    """So Lance is never asked for text where there is no index."""
    bare = place.create(texts(text, "other"))
    assert matching(bare, query) == {}
    assert set(matching(with_text_index(bare), query)) == {"k0"}


def test_stop_words_are_words_where_there_is_no_index(place: Place):
    bare = place.create(texts("the dog", "a cat"))
    assert set(matching(bare, "the")) == {"k0"}
    assert matching(with_text_index(bare), "the") == {}


def test_the_analysis_is_what_the_index_records(disk: Place):
    details = with_text_index(disk.create(texts("a"))).describe_indices()[0].details
    assert {name: details[name] for name in ANALYSIS} == ANALYSIS


@pytest.mark.parametrize(
    ("text", "query", "is_found"),
    [
        ("x" * 39, "x" * 39, True),
        ("x" * 40, "x" * 40, False),
        ("foo_bar-baz", "bar", True),
        ("don't", "don", True),
        ("3.14", "14", True),
        ("日本語", "日本語", True),
        ("日本語", "日本", False),
        ("straße", "straße", True),
        ("straße", "strasse", False),
    ],
    ids=["39 letters", "40 letters", "parts of words", "apostrophe", "digits", "no spaces", "in it", "ß", "ß as ss"],
)
def test_what_a_word_is(disk: Place, text: str, query: str, is_found: bool):
    """Words end at what is no letter or digit; 40 characters are too many; folding comes after stemming."""
    assert (matching(with_text_index(disk.create(texts(text))), query) != {}) == is_found


def test_the_tail_is_found_but_scored_by_statistics_of_its_own(place: Place):
    """Equal texts, unequal scores: an order by score would depend on what is covered."""
    dataset = with_text_index(place.create(texts(*(f"common word{each}" for each in range(50)))))
    tail = texts(*(f"common word{each}" for each in range(3))).set_column(0, "id", pa.array(["t0", "t1", "t2"]))
    dataset = commit(dataset, stage_append(dataset, tail))
    found = matching(dataset, "word1")
    assert set(found) == {"k1", "t1"}
    assert found["k1"] != found["t1"]


def test_fuzzy_finds_only_rows_that_an_index_covers(place: Place):
    dataset = with_text_index(place.create(texts("number1", "number2")))
    tail = texts("zebra").set_column(0, "id", pa.array(["t0"]))
    dataset = commit(dataset, stage_append(dataset, tail))
    assert set(matching(dataset, "nmber1", fuzziness=1)) == {"k0"}
    assert set(matching(dataset, "zebra")) == {"t0"}
    assert matching(dataset, "zebre", fuzziness=1) == {}


def test_a_search_without_a_limit_gives_every_match(place: Place):
    dataset = with_text_index(place.create(texts(*["equal text"] * 3_000)))
    assert len(matching(dataset, "equal")) == 3_000


def test_a_score_that_is_not_asked_for_by_name_is_warned_about(disk: Place, capfd: pytest.CaptureFixture[str]):
    dataset = with_text_index(disk.create(texts("a word")))
    words = MatchQuery("word", "text")
    dataset.scanner(columns=["id", "_score"], full_text_query=words).to_table()
    dataset.scanner(columns=["id"], full_text_query=words, disable_scoring_autoprojection=True).to_table()
    assert capfd.readouterr().err == ""
    dataset.scanner(columns=["id"], full_text_query=words).to_table()
    assert "_score" in capfd.readouterr().err


# ── vectors ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def vectors(count: int, dimension: int = 8) -> pa.Table:
    """Every third row has no vector; the second row's is zero."""
    random = np.random.default_rng(1)
    values = [None if each % 3 == 0 else random.normal(size=dimension).tolist() for each in range(count)]
    values[1] = [0.0] * dimension
    kind = pa.list_(pa.float32(), dimension)
    return pa.table({"id": [f"k{each}" for each in range(count)], "v": pa.array(values, kind)})


def near(dataset: LanceDataset, wanted: Any, count: int, **keywords: Any) -> list[str]:
    nearest = {"column": "v", "q": wanted, "k": count, "metric": "cosine", **keywords}
    found = dataset.scanner(columns=["id", "_distance"], nearest=nearest, prefilter=True).to_table()
    assert found["_distance"].null_count == 0
    return found["id"].to_pylist()


@pytest.mark.parametrize("is_indexed", [False, True])
def test_rows_without_a_vector_or_with_a_zero_one_are_never_near(place: Place, is_indexed: bool):
    dataset = place.create(vectors(60))
    if is_indexed:
        dataset = with_index(dataset, "v", "IVF_FLAT", metric="cosine", num_partitions=1)
    expected = {f"k{each}" for each in range(60) if each % 3 and each != 1}
    assert set(near(dataset, [1.0] * 8, 60)) == expected


def test_with_every_partition_probed_the_index_is_exact(disk: Place):
    """And more probes than there are partitions are all of them."""
    bare = disk.create(vectors(3_000))
    indexed = with_index(bare, "v", "IVF_FLAT", metric="cosine", num_partitions=40)
    random = np.random.default_rng(2)
    for _ in range(5):
        wanted = random.normal(size=8)
        assert near(indexed, wanted, 20, minimum_nprobes=100_000) == near(bare, wanted, 20)


def test_vectors_without_direction_stop_the_training_and_given_centroids_need_none(disk: Place):
    """The training takes a sample, zero vectors included, and then leaves them out: one in 3,000 may not be in it."""
    nothing = disk.create(pa.table({"id": ["k0"], "v": pa.array([[0.0, 0.0]], pa.list_(pa.float32(), 2))}), "zeros")
    with pytest.raises(RuntimeError, match="cannot train 1 centroids with 0 vectors"):
        with_index(nothing, "v", "IVF_FLAT", metric="cosine", num_partitions=1)
    values = [[0.0, 0.0]] * 3_000 + [[1.0, 2.0]]
    table = pa.table({"id": [f"k{each}" for each in range(3_001)], "v": pa.array(values, pa.list_(pa.float32(), 2))})
    dataset = disk.create(table)
    centroids = np.array([[0.6, 0.8]], np.float32)
    indexed = with_index(dataset, "v", "IVF_FLAT", metric="cosine", num_partitions=1, ivf_centroids=centroids)
    assert near(indexed, [1.0, 1.0], 5) == ["k3000"]


def test_a_vector_index_tells_its_metric(disk: Place):
    dataset = with_index(disk.create(vectors(30)), "v", "IVF_FLAT", metric="cosine", num_partitions=1)
    assert dataset.describe_indices()[0].details["metric_type"] == "COSINE"


def test_a_vector_search_cannot_be_filtered_by_address(disk: Place):
    dataset = disk.create(vectors(9))
    nearest = {"column": "v", "q": [1.0] * 8, "k": 3, "metric": "cosine"}
    with pytest.raises(ValueError, match="No field named _rowaddr"):
        dataset.scanner(columns=["id"], nearest=nearest, filter="_rowaddr IN (2, 4)", prefilter=True).to_table()


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────────────

COLUMNS: dict[str, tuple[pa.Array, str | None]] = {
    "flag": (pa.array([each % 2 == 0 for each in range(20)]), "flag = false"),
    "day": (pa.array([dt.date(2024, 1, 1) + dt.timedelta(each) for each in range(20)]), "day = date '2024-01-08'"),
    "at": (pa.array([each * 1_000 + 7 for each in range(20)], pa.date64()), "at = arrow_cast(7007, 'Date64')"),
    "u32": (pa.array([2**31 + each for each in range(20)], pa.uint32()), f"u32 = {2**31 + 7}"),
    "u64": (pa.array([2**63 + each for each in range(20)], pa.uint64()), f"u64 = {2**63 + 7}"),
    "f32": (pa.array([each / 3 for each in range(20)], pa.float32()), "f32 = arrow_cast(2.3333333, 'Float32')"),
    "f64": (pa.array([each / 3 for each in range(20)], pa.float64()), f"f64 = {7 / 3}"),
    "i32": (pa.array(range(20), pa.int32()), "i32 = 7"),
    "i64": (pa.array(range(2**62, 2**62 + 20), pa.int64()), f"i64 = {2**62 + 7}"),
}
REFUSED = {"at", "u32", "u64"}


def table_of(name: str) -> pa.Table:
    return pa.table({"id": [f"k{each}" for each in range(20)], name: COLUMNS[name][0]})


@pytest.mark.parametrize("name", COLUMNS)
def test_every_scalar_type_has_a_tree_that_answers(disk: Place, name: str):
    values, sql = COLUMNS[name]
    dataset = with_index(disk.create(table_of(name)), name, "BTREE")
    dataset = commit(dataset, stage_append(dataset, table_of(name).slice(7, 1)))
    assert "ScalarIndexQuery" in dataset.scanner(filter=sql).explain_plan()
    assert dataset.count_rows(sql) == (11 if name == "flag" else 2)
    for expression, count in (
        (pc.field(name) == values[7], 11 if name == "flag" else 2),
        (pc.field(name).is_null(), 0),
    ):
        if name in REFUSED:
            with pytest.raises(ValueError, match="not yet supported by Substrait"):
                dataset.scanner(filter=expression).to_table()
        else:
            assert "ScalarIndexQuery" in dataset.scanner(filter=expression).explain_plan()
            assert dataset.count_rows(expression) == count


@pytest.mark.parametrize("is_indexed", [False, True])
def test_not_a_number_is_greater_than_every_number(disk: Place, is_indexed: bool):
    """Arrow says of NaN that it is neither greater nor less."""
    dataset = disk.create(pa.table({"f": pa.array([1.0, float("nan"), None, 3.0], pa.float64())}))
    if is_indexed:
        dataset = with_index(dataset, "f", "BTREE")
    assert dataset.count_rows(pc.field("f") > 2.0) == 2
    assert dataset.to_table().filter(pc.field("f") > 2.0).num_rows == 1
