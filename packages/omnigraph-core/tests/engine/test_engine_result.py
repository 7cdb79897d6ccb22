"""``Result``: rows for people and programs, the same rows for other tools, and nothing that changes."""

from __future__ import annotations

import datetime as dt
import pickle
import sys

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omnigraph.engine.result import SHOWN_CHARACTERS, SHOWN_ROWS, Result
from omnigraph.errors import InvalidInputError

SCHEMA = pa.schema([
    pa.field("id", pa.string()),
    pa.field("released", pa.date32()),
    pa.field("stars", pa.float32()),
    pa.field("tags", pa.list_(pa.string())),
])  # fmt: skip
FILMS = pa.table(
    {
        "id": ["SF-1", "DO-3"],
        "released": pa.array([dt.date(2020, 3, 1), None], pa.date32()),
        "stars": pa.array([4.5, None], pa.float32()),
        "tags": pa.array([["space", "slow"], None], pa.list_(pa.string())),
    },
    schema=SCHEMA,
)
ROWS = [
    {"id": "SF-1", "released": "2020-03-01", "stars": 4.5, "tags": ["space", "slow"]},
    {"id": "DO-3", "released": None, "stars": None, "tags": None},
]


def result(rows: pa.Table | pa.RecordBatchReader = FILMS, **more: str) -> Result:
    return Result(rows, branch="main", commit_id="01J", **more)


def test_rows_are_json_cells_in_column_order():
    assert result().rows() == ROWS
    assert [list(row) for row in result().rows()] == [SCHEMA.names] * 2


def test_iterating_gives_the_same_rows_across_every_boundary():
    numbers = pa.table({"n": pa.array(range(20_000))})
    assert [row["n"] for row in result(numbers)] == list(range(20_000))
    assert list(result()) == ROWS


def test_a_stream_is_read_once_and_stays():
    read = result(FILMS.to_reader(max_chunksize=1))
    assert read.rows() == ROWS
    assert read.rows() == ROWS
    assert len(read) == 2


def test_columns_are_there_without_rows():
    empty = result(SCHEMA.empty_table())
    assert empty.columns == ("id", "released", "stars", "tags")
    assert (len(empty), empty.rows(), list(empty)) == (0, [], [])
    assert empty.to_dict()["columns"] == ["id", "released", "stars", "tags"]
    assert result(SCHEMA.empty_table().to_reader()).columns == empty.columns


def test_rows_without_columns_are_still_counted():
    assert result(FILMS.select([])).rows() == [{}, {}]


def test_the_json_form_says_what_was_read_of_which_commit():
    assert result(snapshot="01J", query_name="films").to_dict() == {
        "query_name": "films",
        "target": {"branch": "main", "snapshot": "01J"},
        "row_count": 2,
        "columns": ["id", "released", "stars", "tags"],
        "rows": ROWS,
        "graph_commit_id": "01J",
    }
    assert result().to_dict()["target"] == {"branch": "main", "snapshot": None}


def test_a_result_cannot_be_changed():
    read = result()
    with pytest.raises(AttributeError, match="never changes"):
        read.branch = "other"
    with pytest.raises(AttributeError, match="never changes"):
        read.anything = 1
    with pytest.raises(AttributeError, match="never changes"):
        del read.columns
    read.rows()[0]["id"] = "mine"
    assert read.rows() == ROWS


def test_a_result_pickles():
    copy = pickle.loads(pickle.dumps(result(snapshot="01J", query_name="films")))
    assert copy.to_dict() == result(snapshot="01J", query_name="films").to_dict()


def test_the_short_form_names_size_branch_and_commit():
    assert repr(result()) == "<Result: 2 rows of branch main at 01J>"
    assert repr(result(FILMS.slice(0, 1))) == "<Result: 1 row of branch main at 01J>"


# ── other tools ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_arrow_gets_the_table_as_it_was_read():
    assert result().to_arrow() is FILMS
    assert pa.table(result()) == FILMS
    assert pa.RecordBatchReader.from_stream(result()).read_all() == FILMS


def test_pandas_and_polars_get_typed_columns():
    frame = result().to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == SCHEMA.names
    assert frame["id"].tolist() == ["SF-1", "DO-3"]
    assert frame["released"][0] == dt.date(2020, 3, 1)
    polar = result().to_polars()
    assert isinstance(polar, pl.DataFrame)
    assert polar["released"].to_list() == [dt.date(2020, 3, 1), None]
    assert pl.DataFrame(result()).equals(polar)


def test_edges_become_a_graph_with_their_ids_as_keys():
    rented = pa.table(
        {
            "id": ["e1", "e2", "e3"],
            "src": ["ann", "ann", "bo"],
            "dst": ["SF-1", "SF-1", "DO-3"],
            "on": pa.array([dt.date(2026, 2, 1), None, None], pa.date32()),
        }
    )
    graph = result(rented).to_networkx()
    assert isinstance(graph, nx.MultiDiGraph)
    assert sorted(graph.edges(keys=True, data=True)) == [
        ("ann", "SF-1", "e1", {"on": "2026-02-01"}),
        ("ann", "SF-1", "e2", {"on": None}),
        ("bo", "DO-3", "e3", {"on": None}),
    ]
    assert sorted(graph.nodes) == ["DO-3", "SF-1", "ann", "bo"]


def test_edges_may_have_a_column_with_a_name_that_networkx_uses():
    odd = pa.table({"src": ["a"], "dst": ["b"], "key": ["k"], "self": ["s"], "u_for_edge": [1]})
    ((_, _, data),) = result(odd).to_networkx().edges(data=True)
    assert data == {"key": "k", "self": "s", "u_for_edge": 1}


def test_rows_that_are_no_edges_are_no_graph():
    with pytest.raises(InvalidInputError, match="without the column src and dst") as raised:
        result().to_networkx()
    assert "g.table" in str(raised.value.help)


@pytest.mark.parametrize("package", ["pandas", "polars", "networkx"])
def test_a_missing_package_is_named_with_how_to_install_it(package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    edges = pa.table({"src": ["a"], "dst": ["b"]})
    with pytest.raises(InvalidInputError) as raised:
        getattr(result(edges), f"to_{package}")()
    assert raised.value.help == f"Install it: pip install {package}"
    assert raised.value.details == {"package": package}


# ── notebooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_notebook_shows_a_table_that_cannot_break_out_of_the_page():
    evil = pa.table({"<b>": ["<script>alert(1)</script>"], "n": [None]})
    shown = Result(evil, branch="<i>", commit_id="&")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<th>&lt;b&gt;</th>" in shown
    assert "<td></td>" in shown
    assert "branch &lt;i&gt;, commit &amp;" in shown


def test_a_notebook_shows_few_rows_and_short_cells():
    many = pa.table({"text": ["x" * 10_000] * 5_000})
    shown = result(many)._repr_html_()
    assert shown.count("<tr>") == SHOWN_ROWS + 1
    assert len(shown) < SHOWN_ROWS * (SHOWN_CHARACTERS + 40)
    assert "5,000 rows, the first 20 shown; branch main, commit 01J" in shown
    assert "2 rows; branch main" in result()._repr_html_()


def test_points_in_time_keep_their_time_in_every_other_form() -> None:
    moment = dt.datetime(2025, 1, 2, 3, 4, 5, 678_000, tzinfo=dt.UTC)
    milliseconds = round(moment.timestamp() * 1000)
    before = -1
    stored = pa.table(
        {
            "at": pa.chunked_array(
                [
                    pa.array([milliseconds, None], pa.int64()).view(pa.date64()),
                    pa.array([7, before], pa.int64()).view(pa.date64()).slice(1),
                ]
            ),
            "all": pa.ListArray.from_arrays(
                pa.array([0, 2, 2, 3], pa.int32()),
                pa.array([milliseconds, None, before], pa.int64()).view(pa.date64()),
                mask=pa.array([False, True, False]),
            ),
        }
    )
    result = Result(stored, branch="main", commit_id="c")
    last = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC)
    table = result.to_arrow()
    table.validate(full=True)
    assert table["at"].to_pylist() == [moment, None, last]
    assert table["all"].to_pylist() == [[moment, None], None, [last]]
    assert result.to_pandas()["at"][0].to_pydatetime() == moment
    assert result.to_polars()["at"].to_list() == [moment, None, last]
    assert pa.table(result)["at"].to_pylist() == [moment, None, last]
    assert result.rows()[0] == {"at": "2025-01-02T03:04:05.678Z", "all": ["2025-01-02T03:04:05.678Z", None]}
    assert Result(table.slice(2), branch="main", commit_id="c").to_arrow()["all"].to_pylist() == [[last]]
