"""What the three modes of a load do to a graph, whether its rows fit into memory or go through files.

Every test runs twice: as usual, and with one record per batch and a bound of one byte on what is held, so that each
record goes to a file of its own. Nothing that a user sees may tell the two apart.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import ConstraintError, HeadMovedError, OmnigraphError
from omnigraph.testing.faults import Call, armed
from omnigraph.write import load as loading
from omnigraph.write.buffers import SPILL_BYTES
from omnigraph.write.load import LoadResult
from omnigraph.write.records.reading import read_records

SCHEMA = """
node Person { handle: String @key  mail: String? @unique }
node Film { code: String @key  title: String  poster: Blob?  tags: [String]? }
node Note { text: String? @unique  stars: I32?  kind: enum(red, blue)? }
edge Rented: Person -> Film { on: Date?  days: I32?  @unique(src, dst) }
edge Follows: Person -> Person
edge Jury: Person -> Film @card(2..3)
"""

START = (
    {"type": "Person", "data": {"handle": "ann", "mail": "a@x"}},
    {"type": "Person", "data": {"handle": "bo"}},
    {"type": "Film", "data": {"code": "f1", "title": "one", "poster": "base64:YQ=="}},
    {"type": "Film", "data": {"code": "f2", "title": "two", "poster": "base64:", "tags": []}},
    {"type": "Film", "data": {"code": "f3", "title": "three"}},
    {"edge": "Rented", "from": "ann", "to": "f1", "data": {"id": "r1", "days": 1}},
    {"type": "Note", "data": {"id": "n1", "text": "x", "stars": 1}},
)

Load = Callable[..., LoadResult]


@pytest.fixture
def graph() -> og.Graph:
    made = og.init(f"memory://semantics-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load(START, "append")
    return made


@pytest.fixture(params=["in memory", "in files"])
def put(request: pytest.FixtureRequest, graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads records, each a line of text, or Arrow data."""
    spill_bytes = SPILL_BYTES
    if request.param == "in files":
        spill_bytes = 1
        # Every record is a batch then, and every batch a file.
        monkeypatch.setattr(loading, "read_records", partial(read_records, chunk_rows=1))

    def run(mode: str, *records: dict[str, Any], arrow: dict[str, Any] | None = None) -> LoadResult:
        data = "\n".join(map(json.dumps, records)) if arrow is None else arrow
        request = loading.LoadRequest(mode=loading.LoadMode(mode), spill_bytes=spill_bytes)
        return loading.load(graph._repository, data, request)

    return run


def rows(graph: og.Graph, name: str) -> dict[str, dict[str, Any]]:
    """The rows of a type by id."""
    return {row.pop("id"): row for row in graph.table(name).rows()}


def refused(graph: og.Graph, call: Callable[[], object]) -> list[tuple[str, int | None]]:
    """Reason and line of everything that is wrong with a load, which changes nothing."""
    before, commits = [*graph.export()], graph.commits.list()
    with pytest.raises(OmnigraphError) as caught:
        call()
    assert caught.value.help
    assert [*graph.export()] == before
    assert graph.commits.list() == commits
    return [(each["reason"], each.get("line")) for each in caught.value.details["problems"]]


# ── ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def note(text: str | None, **data: Any) -> dict[str, Any]:
    return {"type": "Note", "data": {"text": text, **data}}


def rented(src: str, dst: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Rented", "from": src, "to": dst, "data": data}


def test_of_records_with_one_id_a_merge_keeps_the_last(graph: og.Graph, put: Load):
    result = put("merge", note("y", id="n2"), note("x", id="n1", stars=5), note("z", id="n2"))
    assert rows(graph, "Note") == {
        "n1": {"text": "x", "stars": 5, "kind": None},
        "n2": {"text": "z", "stars": None, "kind": None},
    }
    assert result.nodes == {"Note": 3}


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_records_with_one_id_are_refused_where_nothing_is_replaced(graph: og.Graph, put: Load, mode: str):
    assert refused(graph, lambda: put(mode, note("y", id="n2"), note("z", id="n2"))) == [("key_conflict", 2)]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_key_that_occurs_twice_is_refused_in_every_mode(graph: og.Graph, put: Load, mode: str):
    # Dee is new and cy is, so nothing but the repetition is wrong.
    people = [{"type": "Person", "data": {"handle": handle}} for handle in ("ann", "bo", "cy", "dee", "cy")]
    twice = people[2:] if mode == "append" else people
    assert refused(graph, lambda: put(mode, *twice)) == [("unique", len(twice))]


def test_an_append_refuses_an_id_that_is_taken(graph: og.Graph, put: Load):
    assert refused(graph, lambda: put("append", note("new", id="n2"), note("other", id="n1"))) == [("key_conflict", 2)]


# ── unique ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_records_with_one_unique_value_are_refused_even_if_they_share_their_id(graph: og.Graph, put: Load):
    assert refused(graph, lambda: put("merge", note("q", id="n2"), note("q", id="n2"))) == [("unique", 2)]


def test_a_value_that_a_replaced_record_had_is_still_repeated(graph: og.Graph, put: Load):
    records = (note("q", id="n2"), note("other", id="n2"), note("q", id="n3"))
    assert refused(graph, lambda: put("merge", *records)) == [("unique", 3)]


def test_edges_that_are_recognised_by_one_tuple_are_refused_twice_in_one_merge(graph: og.Graph, put: Load):
    """Whether the edge is there already or not, and whether it is named by its id or by its ends."""
    for twice in (
        (rented("ann", "f1", days=2), rented("ann", "f1", days=3)),
        (rented("bo", "f1"), rented("bo", "f1")),
        (rented("ann", "f1", id="r1"), rented("ann", "f1", id="r1")),
        (rented("ann", "f1", id="r1"), rented("ann", "f1")),
    ):
        assert refused(graph, lambda twice=twice: put("merge", *twice)) == [("unique", 2)]


def test_a_unique_value_that_the_same_merge_sets_free_can_be_taken(graph: og.Graph, put: Load):
    put("merge", note("freed", id="n1"), note("x", id="n2"))
    assert {key: row["text"] for key, row in rows(graph, "Note").items()} == {"n1": "freed", "n2": "x"}


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_unique_value_that_a_committed_row_keeps_is_refused_with_its_line(graph: og.Graph, put: Load, mode: str):
    assert refused(graph, lambda: put(mode, note("y", id="n2"), note("x", id="n3"))) == [("unique", 2)]


def test_the_line_is_told_although_an_earlier_record_was_replaced(graph: og.Graph, put: Load):
    assert refused(graph, lambda: put("merge", note("y", id="n2"), note("x", id="n2"))) == [("unique", 2)]


def test_nulls_are_never_repeated(graph: og.Graph, put: Load):
    put("merge", note(None, id="n2"), note(None, id="n3"))
    put("append", note(None))
    assert len(rows(graph, "Note")) == 4


# ── edges ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_merged_edge_without_an_id_replaces_the_one_with_its_unique_tuple_whole(graph: og.Graph, put: Load):
    put("merge", rented("ann", "f1", on="2026-02-01"), rented("bo", "f1", id="r2"))
    assert rows(graph, "Rented") == {
        "r1": {"src": "ann", "dst": "f1", "on": "2026-02-01", "days": None},
        "r2": {"src": "bo", "dst": "f1", "on": None, "days": None},
    }


def test_a_merged_edge_does_not_take_the_id_of_one_that_another_record_moves_away(graph: og.Graph, put: Load):
    put("merge", rented("ann", "f1", days=9), rented("ann", "f2", id="r1"))
    found = rows(graph, "Rented")
    assert (found["r1"]["dst"], len(found)) == ("f2", 2)
    assert sorted((row["dst"], row["days"]) for row in found.values()) == [("f1", 9), ("f2", None)]


def test_edges_may_come_before_their_nodes(graph: og.Graph, put: Load):
    put(
        "append",
        {"edge": "Follows", "from": "zoe", "to": "yan"},
        {"type": "Person", "data": {"handle": "yan"}},
        {"edge": "Follows", "from": "yan", "to": "ann"},
        {"type": "Person", "data": {"handle": "zoe"}},
    )
    assert sorted((row["src"], row["dst"]) for row in rows(graph, "Follows").values()) == [
        ("yan", "ann"), ("zoe", "yan"),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_an_edge_to_nowhere_is_refused_with_its_line(graph: og.Graph, put: Load, mode: str):
    follows = [{"edge": "Follows", "from": "ann", "to": to} for to in ("bo", "nobody")]
    assert refused(graph, lambda: put(mode, *follows)) == [("endpoint", 2)]


def jury(src: str, dst: str, name: str) -> dict[str, Any]:
    return {"edge": "Jury", "from": src, "to": dst, "data": {"id": name}}


def test_both_bounds_of_a_cardinality_hold_after_every_write(graph: og.Graph, put: Load):
    assert refused(graph, lambda: put("append", jury("ann", "f1", "j1"))) == [("cardinality", 1)]
    put("append", jury("ann", "f1", "j1"), jury("ann", "f2", "j2"))
    put("append", jury("ann", "f3", "j3"))
    assert refused(graph, lambda: put("append", jury("ann", "f3", "j4"))) == [("cardinality", 1)]
    # One edge leaves ann, who keeps two; bo gets one, which is too few.
    assert refused(graph, lambda: put("merge", jury("bo", "f3", "j3"))) == [("cardinality", 1)]
    # Two leave ann, who keeps one; no record is about her.
    assert refused(graph, lambda: put("merge", jury("bo", "f3", "j3"), jury("bo", "f2", "j2"))) == [
        ("cardinality", None)
    ]
    put("merge", jury("bo", "f3", "j3"), jury("bo", "f2", "j4"))
    assert sorted((row["src"], row["dst"]) for row in rows(graph, "Jury").values()) == [
        ("ann", "f1"), ("ann", "f2"), ("bo", "f2"), ("bo", "f3"),
    ]  # fmt: skip


# ── whole types ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_overwrite_replaces_the_types_of_its_input_and_no_other(graph: og.Graph, put: Load):
    others = [*graph.export(types=["Person", "Film", "Rented"])]
    put("overwrite", note("fresh", id="n9"))
    assert [*rows(graph, "Note")] == ["n9"]
    assert [*graph.export(types=["Person", "Film", "Rented"])] == others


def test_a_merge_replaces_rows_whole_and_leaves_the_others(graph: og.Graph, put: Load):
    put("merge", {"type": "Film", "data": {"code": "f1", "title": "uno"}})
    assert rows(graph, "Film") == {
        "f1": {"code": "f1", "title": "uno", "poster": None, "tags": None},
        "f2": {"code": "f2", "title": "two", "poster": "base64:", "tags": []},
        "f3": {"code": "f3", "title": "three", "poster": None, "tags": None},
    }


@pytest.mark.parametrize("mode", ["merge", "overwrite"])
def test_blobs_go_in_and_out_in_every_mode(graph: og.Graph, put: Load, mode: str):
    posters = {"f1": None, "f2": "base64:AAECAw==", "f3": "base64:", "f4": f"base64:{'QUJD' * 30_000}"}
    put(mode, *({"type": "Film", "data": {"code": key, "title": "t", "poster": b}} for key, b in posters.items()))
    assert {key: row["poster"] for key, row in rows(graph, "Film").items()} == posters
    put("append", {"type": "Film", "data": {"code": "f5", "title": "t", "poster": "base64:eA=="}})
    assert {key: row["poster"] for key, row in rows(graph, "Film").items()} == posters | {"f5": "base64:eA=="}


NOTES = pa.schema({"text": pa.string(), "stars": pa.int64()})


@pytest.mark.parametrize("empty", [NOTES.empty_table(), pa.RecordBatchReader.from_batches(NOTES, [])])
def test_an_overwrite_with_an_empty_arrow_table_empties_the_type(graph: og.Graph, put: Load, empty: Any):
    result = put("overwrite", arrow={"Note": empty})
    assert len(graph.table("Note")) == 0
    assert len(graph.table("Film")) == 3
    assert (result.nodes, result.total) == ({"Note": 0}, 0)


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_an_empty_arrow_table_adds_nothing_to_what_is_there(graph: og.Graph, put: Load, mode: str):
    before = [*graph.export()]
    put(mode, arrow={"Note": NOTES.empty_table()})
    assert [*graph.export()] == before
    assert len(graph.commits.list()) == 3


def test_a_type_cannot_be_emptied_under_edges_that_stay(graph: og.Graph, put: Load):
    films = pa.schema({"code": pa.string(), "title": pa.string()}).empty_table()
    assert refused(graph, lambda: put("overwrite", arrow={"Film": films})) == [("orphan_edge", None)]
    ends = pa.schema({"from": pa.string(), "to": pa.string()}).empty_table()
    put("overwrite", arrow={"Film": films, "Rented": ends})
    assert len(graph.table("Film")) == len(graph.table("Rented")) == 0


def test_columns_of_an_empty_table_are_judged_like_those_of_a_full_one(graph: og.Graph, put: Load):
    wrong = pa.schema({"text": pa.int64()}).empty_table()
    assert refused(graph, lambda: put("overwrite", arrow={"Note": wrong})) == [("wrong_type", None)]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_an_input_without_records_commits_and_changes_nothing(graph: og.Graph, put: Load, mode: str):
    before = [*graph.export()]
    assert put(mode).total == 0
    assert [*graph.export()] == before
    assert len(graph.commits.list()) == 3


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_everything_that_breaks_a_rule_is_told_with_its_line(graph: og.Graph, put: Load, mode: str):
    records = (note("1", kind="green"), note("2"), rented("ann", "zz"), note("3", kind="pink"))
    with pytest.raises(ConstraintError):
        put(mode, *records)
    assert refused(graph, lambda: put(mode, *records)) == [("enum", 1), ("endpoint", 3), ("enum", 4)]
    put(mode, note("1", kind="red"), note("2"), rented("ann", "f2"), note("3", kind="blue"))
    assert {row["text"] for row in rows(graph, "Note").values()} >= {"1", "2", "3"}


# ── others ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def overtaken_by(graph: og.Graph, mode: str, *records: dict[str, Any]) -> Iterator[None]:
    """While this lasts, another handle loads records just before the first load here is published."""
    rival, was_called = og.open(graph.uri), []

    def overtake(_: str) -> None:
        if not was_called:
            was_called.append(True)
            rival.load(records, mode)

    with armed({failpoints.LOAD_STAGED: Call(overtake)}):
        yield
    assert was_called


def test_a_load_that_is_overtaken_is_judged_again_on_what_is_there_now(graph: og.Graph, put: Load):
    with overtaken_by(graph, "append", note("theirs", id="n2")):
        put("append", note("ours", id="n3"))
    assert sorted(rows(graph, "Note")) == ["n1", "n2", "n3"]
    with (
        overtaken_by(graph, "append", note("other", id="n5")),
        pytest.raises(ConstraintError, match=r":2: .*already has this id"),
    ):
        put("append", note("fine", id="n4"), note("late", id="n5"))
    assert sorted(rows(graph, "Note")) == ["n1", "n2", "n3", "n5"]
    with overtaken_by(graph, "merge", note("first", id="n6", stars=1)):
        put("merge", note("second", id="n6"))
    assert rows(graph, "Note")["n6"] == {"text": "second", "stars": None, "kind": None}


def test_an_overtaken_merge_recognises_the_edge_that_the_other_made(graph: og.Graph, put: Load):
    with overtaken_by(graph, "merge", rented("bo", "f1", id="theirs", days=1)):
        put("merge", rented("ann", "f1", days=5), rented("bo", "f1", days=7))
    assert {key: row["days"] for key, row in rows(graph, "Rented").items()} == {"r1": 5, "theirs": 7}


def test_an_overwrite_that_is_overtaken_is_a_conflict_that_names_the_type(graph: og.Graph, put: Load):
    with (
        overtaken_by(graph, "append", note("theirs", id="n2")),
        pytest.raises(HeadMovedError, match=r"^Node type Note changed while") as refused,
    ):
        put("overwrite", note("ours", id="n3"))
    assert refused.value.help
    assert sorted(rows(graph, "Note")) == ["n1", "n2"]
    put("overwrite", note("ours", id="n3"))
    assert sorted(rows(graph, "Note")) == ["n3"]


def test_an_overwrite_does_not_mind_what_happened_before_it_began(graph: og.Graph, put: Load):
    og.open(graph.uri).load([note("theirs", id="n2")], "append")
    put("overwrite", note("ours", id="n3"))
    assert sorted(rows(graph, "Note")) == ["n3"]
