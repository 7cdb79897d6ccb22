"""The reader of a stream, asked as Spark asks it and without Spark: offsets, batches, and what is refused."""

from __future__ import annotations

import json
import pickle
import random
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from stream_world import SCHEMA, Row, busy_graph, fed, film, person, told

import omnigraph as og
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    InvalidInputError,
    NotFoundError,
    OmnigraphError,
)
from omnigraph_spark.change_stream import ChangeStreamReader
from omnigraph_spark.source import OmnigraphSource


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return busy_graph(tmp_path / "graph")


def reader_of(graph: og.Graph, **options: Any) -> ChangeStreamReader:
    """The reader of a stream as Spark makes it: in a process that is given the source."""
    given = {"uri": graph.uri, "start": "beginning"} | {name: str(each) for name, each in options.items()}
    source = pickle.loads(pickle.dumps(OmnigraphSource(given)))
    reader = source.streamReader(source.schema())
    assert isinstance(reader, ChangeStreamReader)
    return reader


def rows_between(reader: ChangeStreamReader, start: dict[str, str], end: dict[str, str]) -> list[Row]:
    """What the tasks of a batch read, each from what is sent to it."""
    partitions = pickle.loads(pickle.dumps(reader.partitions(start, end)))
    tasks = pickle.loads(pickle.dumps(reader))
    return [row for each in partitions for batch in tasks.read(each) for row in batch.to_pylist()]


@dataclass
class Checkpoint:
    """What Spark keeps of a query: where each batch ends, written before it runs; and which were done."""

    ends: list[str] = field(default_factory=list)
    done_count: int = 0

    def run(self, reader: ChangeStreamReader, seen: dict[int, list[Row]], *, crashes_after: int | None = None) -> None:
        """Batches until nothing more is there, as Spark runs them with ``availableNow``; offsets go as JSON.

        A crash comes when so many batches were begun: after the last one was read and before that was noted.
        """
        reader.prepareForTriggerAvailableNow()
        limit = reader.getDefaultReadLimit()
        while True:
            start = json.loads(self.ends[self.done_count - 1]) if self.done_count else reader.initialOffset()
            if len(self.ends) == self.done_count:
                end = json.dumps(reader.latestOffset(start, limit))
                if self.ends and end == self.ends[-1]:
                    break
                self.ends.append(end)
            rows = rows_between(reader, start, json.loads(self.ends[-1]))
            # A batch that comes again is the same batch.
            assert seen.setdefault(self.done_count, rows) == rows
            if crashes_after is not None and len(seen) > crashes_after:
                return
            self.done_count += 1
        reader.stop()


def all_rows(seen: dict[int, list[Row]]) -> list[Row]:
    return [row for _, rows in sorted(seen.items()) for row in rows]


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("branch", ["main", "side"])
def test_batches_are_whole_commits_as_many_as_the_rate_allows_and_together_all_changes(
    graph: og.Graph, branch: str
) -> None:
    checkpoint, seen = Checkpoint(), {}
    checkpoint.run(reader_of(graph, branch=branch, maxCommitsPerTrigger=2), seen)
    assert told(all_rows(seen)) == fed(graph, branch)
    commits = [block.cause.commit_id for block in graph.changes(branch, start="beginning").blocks]
    assert [json.loads(end)["commit"] for end in checkpoint.ends] == [*commits[1::2], *commits[-1:]][: len(seen)]
    assert len(seen) == (len(commits) + 1) // 2


@pytest.mark.parametrize("seed", range(8))
def test_a_stream_that_is_cut_off_at_random_and_goes_on_tells_what_the_feed_tells(graph: og.Graph, seed: int) -> None:
    chance = random.Random(seed)
    checkpoint, seen = Checkpoint(), {}
    for step in range(6):
        options = {"maxCommitsPerTrigger": chance.choice([1, 2, 3]), "commitsPerPartition": chance.choice([1, 2, 8])}
        crashes_after = len(seen) + chance.randrange(3)
        checkpoint.run(reader_of(graph, **options), seen, crashes_after=crashes_after)
        graph.load([person(f"new-{step}")], "append", branch=chance.choice(["main", "side"]))
        if chance.random() < 0.3:
            graph.branches.merge("side")
    checkpoint.run(reader_of(graph), seen)
    assert told(all_rows(seen)) == fed(graph)


def test_many_commits_are_cut_into_partitions_and_those_without_rows_need_none(graph: og.Graph) -> None:
    reader = reader_of(graph, commitsPerPartition=2)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    parts = reader.partitions(start, end)
    assert [len(each.span.commits) for each in parts] == [2, 2, 2]
    assert reader.partitions(end, end) == []
    graph.maintain.ensure_indices()
    folded = reader.latestOffset(end, ReadAllAvailable())
    assert folded != end
    assert reader.partitions(end, folded) == []


def test_available_now_ends_where_the_branch_stood_when_it_began(graph: og.Graph) -> None:
    reader = reader_of(graph)
    reader.prepareForTriggerAvailableNow()
    before = fed(graph)
    graph.load([person("ed")], "append")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert told(rows_between(reader, start, end)) == before
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_a_stream_from_now_begins_where_its_first_batch_ended_however_often_that_is_asked(graph: og.Graph) -> None:
    checkpoint, seen = Checkpoint(), {}
    checkpoint.run(reader_of(graph, start="now"), seen, crashes_after=0)
    last = graph.commits.list()[0].id
    graph.load([person("ed")], "append")
    checkpoint.run(reader_of(graph, start="now"), seen)
    assert seen[0] == []
    assert told(all_rows(seen)) == fed(graph, start=f"after:{last}") != []


@pytest.mark.parametrize(
    "filters", [{"kinds": ["edge"]}, {"types": ["Person", "node:Film"], "ops": ["delete", "update"]}]
)
def test_filters_leave_out_what_they_leave_out_of_the_feed(graph: og.Graph, filters: dict[str, list[str]]) -> None:
    seen: dict[int, list[Row]] = {}
    Checkpoint().run(reader_of(graph, **{name: ",".join(words) for name, words in filters.items()}), seen)
    assert told(all_rows(seen)) == fed(graph, **filters)


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_images_of_one_type_are_its_columns_in_the_types_of_spark(graph: og.Graph) -> None:
    graph.load([person("ed", seen="2026-01-02T03:04:05.678Z")], "append")
    seen: dict[int, list[Row]] = {}
    Checkpoint().run(reader_of(graph, nodeType="Person"), seen)
    ann = {"id": "ann", "age": 3, "marks": [Decimal(2**64 - 1)], "name": "ann", "seen": None}
    bo, cy, di = ({"id": name, "age": None, "marks": None, "name": name, "seen": None} for name in ("bo", "cy", "di"))
    *rows, last = [(row["op"], row["before"], row["after"]) for row in all_rows(seen)]
    assert rows == [
        ("insert", None, ann),
        ("insert", None, bo),
        ("update", bo, bo | {"age": 7}),
        ("insert", None, di),
        ("insert", None, cy),
        ("delete", ann, None),
    ]
    assert last[2]["seen"].isoformat() == "2026-01-02T03:04:05.678000+00:00"
    seen = {}
    Checkpoint().run(reader_of(graph, edgeType="Saw", ops="delete"), seen)
    (gone,) = all_rows(seen)
    assert (gone["from_id"], gone["to_id"], gone["after"]) == ("ann", "Salt", None)
    assert gone["before"] == {"id": "s1", "src": "ann", "dst": "Salt", "stars": 4.5}


def test_every_row_says_which_commit_it_is_of(graph: og.Graph) -> None:
    seen: dict[int, list[Row]] = {}
    Checkpoint().run(reader_of(graph), seen)
    causes = {block.cause.commit_id: block.cause for block in graph.changes(start="beginning").blocks}
    for row in all_rows(seen):
        cause = causes[row["commit_id"]]
        assert isinstance(row["committed_at"], datetime)
        assert (row["committed_at"], row["commit_kind"], row["actor"]) == (cause.created_at, cause.kind, cause.actor)


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_of_another_branch_graph_or_filter_is_refused_with_the_way_out(
    graph: og.Graph, tmp_path: Path
) -> None:
    graph.branches.create("short")
    checkpoint = Checkpoint()
    checkpoint.run(reader_of(graph, branch="short"), {})
    graph.branches.delete("short")
    graph.branches.create("short")
    other = og.init(tmp_path / "other", schema=SCHEMA)
    other.branches.create("short")
    for reader, reason in (
        (reader_of(graph, branch="short"), "incarnation"),
        (reader_of(graph), "branch"),
        (reader_of(other, branch="short"), "graph"),
        (reader_of(graph, branch="short", kinds="node"), "filter"),
    ):
        with pytest.raises(ChangeCursorRejectedError) as caught:
            checkpoint.run(reader, {})
        assert caught.value.reason in (reason, "incarnation")
        assert "another checkpointLocation" in caught.value.__notes__[0]


def test_a_batch_whose_history_was_reclaimed_is_an_error_and_never_a_part_of_it(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    with og.init(place, schema=SCHEMA) as graph:
        for name in "abcd":
            graph.load([film(name)], "append")
        reader = reader_of(graph)
        start, end = reader.initialOffset(), reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
        parts = pickle.loads(pickle.dumps(reader.partitions(start, end)))
    # Lance counts the names of versions down.
    for each in sorted(place.glob("__manifest/*/_versions/*.manifest"), reverse=True)[:2]:
        each.unlink()
    with og.open(place, mode="r") as graph:
        again = reader_of(graph)
        for attempt in (lambda: again.partitions(start, end), lambda: [*again.read(parts[0])]):
            with pytest.raises(ChangeFeedGapError) as caught:
                attempt()
            assert 'start", "after:COMMIT"' in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"maxCommitsPerTrigger": "0"}, "an integer from 1"),
        ({"nodeType": "Nobody"}, 'There is no node type "Nobody"'),
        ({"nodeType": "Person", "types": "Film"}, "exclude each other"),
        ({"commit": "01ABC"}, "is for read, not for readStream"),
        ({"columns": "name", "nodeType": "Person"}, "is for read, not for readStream"),
        ({"strat": "now"}, 'Did you mean "start"?'),
    ],
)
def test_wrong_options_are_told_before_a_stream_begins(graph: og.Graph, options: dict[str, str], words: str) -> None:
    with pytest.raises((InvalidInputError, NotFoundError)) as caught:
        reader_of(graph, **options)
    assert words in str(caught.value)


def test_a_stream_that_does_not_say_where_it_begins_is_told_how_to(graph: og.Graph) -> None:
    for options in ({"nodeType": "Person"}, {}):
        source = OmnigraphSource({"uri": graph.uri} | options)
        with pytest.raises(InvalidInputError, match=r'\.option\("start", "now"\)'):
            source.streamReader(source.schema())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "yesterday"}, '"now", "beginning" or "after:"'),
        ({"start": "after:nothing"}, "omnigraph commit list"),
        ({"branch": "nowhere"}, "nowhere"),
        ({"ops": "upsert"}, '"insert", "update", "delete"'),
    ],
)
def test_what_only_the_graph_can_judge_is_told_when_the_stream_begins(
    graph: og.Graph, options: dict[str, str], words: str
) -> None:
    with pytest.raises(OmnigraphError) as caught:
        Checkpoint().run(reader_of(graph, **options), {})
    assert words in str(caught.value)
