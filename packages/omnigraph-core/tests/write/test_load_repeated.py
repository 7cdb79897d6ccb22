"""A load that has a name happens once, whoever repeats it and when."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import LoadIdReusedError
from omnigraph.testing.faults import Call, armed
from omnigraph.write.records.content import digest_of

SCHEMA = "node Note { text: String }  node Keyed { key: I64 @key }"
ROWS = [{"type": "Note", "data": {"text": "a"}}, {"type": "Keyed", "data": {"key": 1}}]


@pytest.fixture
def graph() -> og.Graph:
    return og.init(f"memory://repeated-{uuid.uuid4().hex}", schema=SCHEMA)


def test_a_second_load_of_the_same_name_does_nothing_and_gives_the_first_ones_commit(graph: og.Graph):
    first = graph.load(ROWS, mode="append", load_id="night")
    assert graph.load(ROWS, mode="append", load_id="night").commit == first.commit
    assert og.open(graph.uri).load(ROWS, mode="append", load_id="night").commit == first.commit
    assert len(graph.table("Note")) == 1
    assert len(graph.commits.list()) == 2


@pytest.mark.parametrize("point", [failpoints.LOAD_STAGED, failpoints.PUBLISH_BEFORE_COMMIT])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]], ids=["keyed", "keyless"])
def test_a_load_that_another_of_its_name_overtakes_adds_nothing(graph: og.Graph, point: str, rows):
    rival, winners = og.open(graph.uri), []

    def overtake(_: str) -> None:
        if not winners:
            winners.append(None)
            winners[0] = rival.load(rows, mode="append", load_id="night").commit

    with armed({point: Call(overtake)}):
        beaten = graph.load(rows, mode="append", load_id="night")
    assert beaten.commit == winners[0]
    assert len(graph.table("Note")) == 1
    assert len(graph.commits.list()) == 2


def test_loads_of_other_names_are_others(graph: og.Graph):
    for name in ("one", "two"):
        graph.load(ROWS[:1], mode="append", load_id=name)
    graph.load(ROWS[:1], mode="append")
    assert len(graph.table("Note")) == 3


# ── the same name with other content ─────────────────────────────────────────────────────────────────────────────────

LINES = "".join(json.dumps(each) + "\n" for each in ROWS)
NOTES = pa.table({"text": ["a", "bb", "ccc"]})
KEYED = pa.table({"key": [1, 2, 3]})


def refused(graph: og.Graph, data: Any, first: og.LoadResult) -> LoadIdReusedError:
    before = graph.snapshot().commit
    with pytest.raises(LoadIdReusedError) as caught:
        graph.load(data, mode="append", load_id="night")
    assert graph.snapshot().commit == before
    assert caught.value.commit_id == first.commit.id
    assert caught.value.expected == first.commit.properties["content_digest"]
    assert caught.value.actual != caught.value.expected
    return caught.value


def test_a_digest_of_the_bytes_is_kept_with_the_commit_whatever_form_they_came_in(graph: og.Graph, tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text(LINES)
    first = graph.load(path, mode="append", load_id="night")
    digest = "jsonl-sha256:" + hashlib.sha256(LINES.encode()).hexdigest()
    assert first.commit.properties == {"load_id": "night", "content_digest": digest}
    for same in (path, LINES, LINES.encode(), io.BytesIO(LINES.encode()), io.StringIO(LINES)):
        assert graph.load(same, mode="append", load_id="night").commit == first.commit
    assert len(graph.commits.list()) == 2


def test_another_file_under_the_same_name_is_refused_and_names_commit_and_digests(graph: og.Graph, tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text(LINES)
    first = graph.load(path, mode="append", load_id="night")
    path.write_text(LINES.replace('"a"', '"b"'))
    error = refused(graph, path, first)
    assert error.actual == "jsonl-sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    assert first.commit.id in str(error)
    assert error.expected in str(error)
    assert error.actual in str(error)
    # Nothing of it is judged: a file that is no JSONL is other content, and no more is said.
    path.write_bytes(b"\xff\xfe nothing of the kind")
    refused(graph, path, first)


def test_records_are_compared_one_after_the_other_and_an_iterator_is_used_up(graph: og.Graph):
    first = graph.load(iter(ROWS), mode="append", load_id="night")
    again = iter([{"data": {"text": "a"}, "type": "Note"}, ROWS[1]])
    assert graph.load(again, mode="append", load_id="night").commit == first.commit
    assert list(again) == []
    refused(graph, ROWS[::-1], first)
    refused(graph, ROWS[:1], first)
    refused(graph, LINES, first)


def test_values_that_json_has_no_form_for_are_compared_too():
    graph = og.init(
        f"memory://repeated-{uuid.uuid4().hex}", schema="node Day { on: Date?  at: DateTime?  data: Blob? }"
    )
    noon = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
    rows = [{"type": "Day", "data": {"on": dt.date(2026, 1, 5), "at": noon}}]
    first = graph.load(rows, mode="append", load_id="night")
    assert graph.load(rows, mode="append", load_id="night").commit == first.commit
    refused(graph, [{"type": "Day", "data": {"on": dt.date(2026, 1, 6), "at": noon}}], first)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_arrow_data_is_compared_by_values_however_it_is_cut(graph: og.Graph, size: int):
    first = graph.load({"Note": NOTES.slice(0, 1), "Keyed": KEYED}, mode="append", load_id="night")
    batches = KEYED.to_batches(max_chunksize=size)
    reader = pa.RecordBatchReader.from_batches(KEYED.schema, batches)
    same = {"Keyed": reader, "Note": pa.table({"text": pa.array(["a", "x"], pa.large_string())}).slice(0, 1)}
    assert graph.load(same, mode="append", load_id="night").commit == first.commit
    refused(graph, {"Note": NOTES.slice(0, 1), "Keyed": KEYED.slice(0, 2)}, first)
    refused(graph, {"Note": NOTES.slice(0, 1)}, first)
    refused(graph, {"Note": pa.table({"text": ["b"]}), "Keyed": KEYED}, first)
    refused(graph, {"Note": NOTES.slice(0, 0), "Keyed": KEYED}, first)


def digest(table: pa.Table, *, step: int = 1_000) -> str:
    batches = [each for at in range(0, len(table), step) for each in table.slice(at, step).to_batches()]
    return digest_of({"T": pa.RecordBatchReader.from_batches(table.schema, batches)})


CELLS = st.one_of(
    st.lists(st.none() | st.text(max_size=3), min_size=1, max_size=6).map(lambda each: pa.array(each, pa.string())),
    st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=6).map(lambda each: pa.array(each, pa.int64())),
    st.lists(st.none() | st.lists(st.none() | st.integers(0, 2), max_size=3), min_size=1, max_size=6).map(
        lambda each: pa.array(each, pa.list_(pa.int32()))
    ),
    st.lists(st.none() | st.lists(st.sampled_from(["", "a"]), max_size=2), min_size=1, max_size=6).map(
        lambda each: pa.array(each, pa.list_(pa.string()))
    ),
)


@given(left=CELLS, right=CELLS, step=st.integers(1, 6), skipped=st.integers(0, 2))
def test_digests_of_arrow_data_are_equal_exactly_when_the_values_are(
    left: pa.Array, right: pa.Array, step: int, skipped: int
):
    table = pa.table({"x": left})
    padded = pa.table({"x": pa.concat_arrays([left[:1]] * skipped + [left])}).slice(skipped)
    assert digest(table) == digest(padded, step=step)
    is_same = left.type == right.type and left.to_pylist() == right.to_pylist()
    assert (digest(table) == digest(pa.table({"x": right}))) == is_same


def test_a_load_without_a_digest_is_answered_as_before(graph: og.Graph):
    ticket = graph.bulk(["Note"], load_id="night")
    first = graph.bulk_publish([ticket.write("Note", pa.record_batch({"text": ["a"]}))], load_id="night")
    assert first.commit.properties == {"load_id": "night"}
    assert graph.load(ROWS, mode="append", load_id="night").commit == first.commit


def test_a_bulk_load_may_bring_its_own_digest(graph: og.Graph):
    ticket = graph.bulk(["Note"], load_id="night")
    receipt = ticket.write("Note", pa.record_batch({"text": ["a"]}))
    first = graph.bulk_publish([receipt], load_id="night", content_digest="files:1")
    assert first.commit.properties == {"load_id": "night", "content_digest": "files:1"}
    assert graph.bulk_publish([], load_id="night", content_digest="files:1").commit == first.commit
    assert graph.bulk_publish([], load_id="night").commit == first.commit
    with pytest.raises(LoadIdReusedError) as caught:
        graph.bulk_publish([], load_id="night", content_digest="files:2")
    assert (caught.value.expected, caught.value.actual) == ("files:1", "files:2")


@pytest.mark.parametrize("point", [failpoints.LOAD_STAGED, failpoints.PUBLISH_BEFORE_COMMIT])
def test_a_load_that_another_one_of_its_name_overtakes_with_other_content_is_refused(graph: og.Graph, point: str):
    rival, winners = og.open(graph.uri), []

    def overtake(_: str) -> None:
        if not winners:
            winners.append(None)
            winners[0] = rival.load(ROWS[:1], mode="append", load_id="night").commit

    with armed({point: Call(overtake)}), pytest.raises(LoadIdReusedError) as caught:
        graph.load(ROWS, mode="append", load_id="night")
    assert caught.value.commit_id == winners[0].id
    assert len(graph.commits.list()) == 2
