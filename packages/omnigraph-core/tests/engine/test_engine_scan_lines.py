"""Scans of all types at one commit, and their rows as the lines of an export."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator
from itertools import chain

import pytest

import omnigraph as og
from omnigraph.errors import InvalidInputError, NotFoundError

SCHEMA = """
node Film { code: String @key  title: String?  blob: Blob?  at: DateTime?  day: Date?  tags: [String]?  u: U64? }
node Person { name: String @key }
edge Film: Person -> Film { since: Date? }
"""


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://scan-lines-{secrets.token_hex(6)}", schema=SCHEMA) as made:
        film = {
            "code": "a",
            "blob": "base64:AAH/",
            "at": "2026-02-01T10:30:00.123Z",
            "day": "1970-01-01",
            "u": 2**64 - 1,
        }
        people = [{"type": "Person", "data": {"name": name}} for name in ("ann", "bo")]
        made.load([{"type": "Film", "data": film | {"tags": ["x", '"']}}, *people], mode="append")
        for n in range(3):
            edge = {"edge": "Film", "from": "ann", "to": "a", "data": {"id": f"e{n}"}}
            made.load([edge, {"type": "Film", "data": {"code": f"b{n}"}}], mode="append")
        yield made


def lines_of(scans: tuple[og.TypeScan, ...]) -> list[str]:
    return [line for scan in scans for line in chain.from_iterable(scan.lines())]


def test_the_lines_of_all_scans_are_those_of_the_export_whatever_their_order(graph: og.Graph) -> None:
    scans = graph.scans()
    assert [scan.type_key for scan in scans] == ["edge:Film", "node:Film", "node:Person"]
    assert sorted(lines_of(scans)) == sorted(graph.export())


def test_the_parts_of_a_scan_have_the_lines_once_each_in_another_process_too(graph: og.Graph) -> None:
    (scan,) = graph.scans(["node:Film"])
    assert len(scan.parts) > 1
    sent = pickle.loads(pickle.dumps(scan))
    by_part = [line for part in scan.parts for lines in sent.lines([part.number]) for line in lines]
    assert sorted(by_part) == sorted(graph.export(types=["node:Film"]))
    assert list(sent.lines([])) == []


def test_scans_are_of_one_commit_which_can_be_an_earlier_one(graph: og.Graph) -> None:
    before = graph.snapshot()
    expected = sorted(graph.export())
    now = graph.scans()
    graph.load([{"type": "Person", "data": {"name": "cy"}}], mode="append")
    assert {scan.commit_id for scan in now} == {before.commit.id}
    assert sorted(lines_of(now)) == sorted(lines_of(graph.scans(snapshot=before))) == expected
    assert len(lines_of(graph.scans())) == len(expected) + 1


def test_types_are_named_as_for_an_export(graph: og.Graph) -> None:
    assert [scan.type_key for scan in graph.scans(["Film"])] == ["edge:Film", "node:Film"]
    assert graph.scans([]) == ()
    with pytest.raises(NotFoundError, match="Flim"):
        graph.scans(["Flim"])


def test_a_scan_that_leaves_columns_out_has_no_lines(graph: og.Graph) -> None:
    with pytest.raises(InvalidInputError, match="leaves some out"):
        graph.scan("node:Film", ["id", "title"]).lines()
    with pytest.raises(InvalidInputError, match="no part 99"):
        graph.scan("Person").lines([99])
