"""``BulkTicket.attempt``: what is wrong with rows travels as data, and is told as a load of the same rows tells it."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph import BulkAttempt, BulkReceipt
from omnigraph.errors import ConstraintError, InternalError, InvalidInputError, NotFoundError, OmnigraphError
from omnigraph.write.problems import Problem
from omnigraph.write.records.reasons import Reason

SCHEMA = """
node Person { handle: String @key  age: I32?  mail: String? @unique  @range(age, 0..150) }
node Note { text: String  stars: I32?  @range(stars, 0..5) }
edge Knows: Person -> Person @card(0..1) { since: I32? }
"""


def person(handle: str, **data: Any) -> str:
    return json.dumps({"type": "Person", "data": {"handle": handle, **data}})


def knows(src: str, dst: str) -> str:
    return json.dumps({"edge": "Knows", "from": src, "to": dst, "data": {"id": f"{src}-{dst}"}})


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://attempts-{uuid.uuid4().hex}", schema=SCHEMA) as made:
        yield made


def named(text: str, name: str = "in.jsonl") -> io.BytesIO:
    file = io.BytesIO(text.encode())
    file.name = name
    return file


def told(problems: tuple[Problem, ...]) -> list[tuple[str, str | None, int | None]]:
    return [(str(each.reason), each.source, each.line) for each in problems]


# ── what an attempt says ─────────────────────────────────────────────────────────────────────────────────────────────


def test_lines_of_a_text_are_counted_from_its_beginning_and_comments_and_blanks_count(graph: og.Graph):
    text = "\n".join(["// people", "", person("ann"), "  ", person("bo", age=200), "{", person("cy", heigth=1)])
    attempt = graph.bulk().attempt(named(text))
    assert not attempt.is_readable
    assert attempt.receipts == ()
    assert told(attempt.problems) == [("malformed_json", "in.jsonl", 6), ("unknown_field", "in.jsonl", 7)]
    assert attempt.counts == {"malformed_json": 1, "unknown_field": 1}
    assert attempt.lines == 6


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_lines_of_a_text_are_the_ends_of_lines_that_were_read(graph: og.Graph, end: str):
    ticket = graph.bulk()
    assert ticket.attempt(named(person("ann") + "\r\n\r\n" + person("bo") + end)).lines == 2 + len(end)
    assert ticket.attempt(named("")).lines == 0
    assert ticket.attempt(io.StringIO(person("é") + end)).lines == len(end)
    assert ticket.attempt([json.loads(person("ann"))]).lines is None


def test_a_file_without_a_name_a_packed_one_and_records_are_read_as_a_load_reads_them(graph: og.Graph):
    ticket, text = graph.bulk(), person("ann") + "\n" + person("bo", age=-1)
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(text.encode())))
    records = [json.loads(each) for each in text.splitlines()]
    table = {"Person": pa.table({"handle": ["ann", "bo"], "age": [None, -1]})}
    places = {"<text>:2": io.StringIO(text), "": packed, "record 2 of Person": records}
    for place, data in places.items():
        (problem,) = ticket.attempt(data).problems
        assert not place or problem.place == place
        assert problem.line == 2
    (problem,) = ticket.attempt(table).problems
    assert (problem.place, problem.id, problem.reason) == ("record 2 of Person", "bo", "range")


def test_values_are_judged_where_rows_are_written_and_such_rows_are_written_all_the_same(graph: og.Graph):
    attempt = graph.bulk().attempt(named("\n".join([person("ann", age=151), person("bo"), person("cy", age=-1)])))
    assert attempt.is_readable
    assert [(each.line, each.constraint, each.id) for each in attempt.problems] == [
        (1, "@range(age)", "ann"),
        (3, "@range(age)", "cy"),
    ]
    (receipt,) = attempt.receipts
    assert (receipt.type_key, receipt.row_count) == ("node:Person", 3)
    with pytest.raises(ConstraintError, match="2 problems") as caught:
        attempt.raise_problems()
    assert caught.value.details["counts"] == attempt.counts
    with pytest.raises(ConstraintError, match=r"in\.jsonl:3"):
        graph.bulk_publish([attempt])
    assert len(graph.commits.list()) == 1


def test_a_receipt_carries_what_a_publish_needs(graph: og.Graph):
    graph.load([{"type": "Note", "data": {"text": "before"}}], mode="append")
    ticket = graph.bulk(["Note", "Person"], load_id="night")
    table = pa.table({"id": ["n1", None, None], "text": ["a", "b", "c"]})
    (receipt,) = ticket.attempt({"Note": table}).receipts
    state = graph._repository.newest().state
    assert receipt.load_id == ticket.load_id == "night"
    assert receipt.schema_digest == ticket.schema.digest
    assert receipt.type_key == "node:Note"
    assert receipt.pin == state.entries["node:Note"].pin
    assert sum(each.row_count for each in receipt.written) == receipt.row_count == 3
    assert receipt.minted == 2
    assert receipt.staged_at == state.version


def test_a_ticket_of_a_load_that_landed_says_so_and_asks_for_no_writing(graph: og.Graph):
    assert graph.bulk(load_id="night").landed is None
    assert graph.bulk().landed is None
    done = graph.load([{"type": "Note", "data": {"text": "a"}}], mode="append", load_id="night")
    ticket = pickle.loads(pickle.dumps(graph.bulk(load_id="night")))
    assert ticket.landed == done.commit
    again = graph.bulk_publish([], load_id=ticket.load_id)
    assert (again.commit, again.total) == (done.commit, 0)
    assert len(graph.table("Note")) == 1


def test_an_attempt_of_a_type_that_the_ticket_is_not_for_is_refused(graph: og.Graph):
    with pytest.raises(NotFoundError, match="not for node:Person"):
        graph.bulk(["Note"]).attempt(named(person("ann")))


def test_a_ticket_knows_the_columns_of_its_types(graph: og.Graph):
    ticket = graph.bulk()
    for name in ("Person", "Knows", "node:Person"):
        assert ticket.columns_of(name) == graph.table(name).to_arrow().column_names


def test_lines_of_a_type_are_where_its_records_stand(graph: og.Graph):
    ticket = graph.bulk()
    text = "\n".join(["", person("ann"), knows("ann", "bo"), "// more", person("bo"), knows("bo", "ann")])
    assert ticket.lines_of(named(text), "node:Person").tolist() == [2, 5]
    assert ticket.lines_of(named(text), "edge:Knows").tolist() == [3, 6]
    assert ticket.lines_of(named(text), "node:Note").tolist() == []


# ── what travels ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_attempts_and_receipts_come_back_from_json_as_they_were(graph: og.Graph):
    ticket = graph.bulk()
    broken = ticket.attempt(named(person("é", age=200) + "\n" + knows("a", "b")))
    unreadable = ticket.attempt(named("{"))
    empty = ticket.attempt({"Person": pa.table({"handle": pa.array([], pa.string())})})
    for attempt in (broken, unreadable, empty):
        back = BulkAttempt.from_json(attempt.to_json())
        assert back == attempt
        assert back.to_json() == attempt.to_json()
    for receipt in broken.receipts:
        assert BulkReceipt.from_json(receipt.to_json()) == receipt


def test_a_problem_comes_back_from_its_members_as_it_was():
    full = Problem(
        reason="unique", message="m", type_key="node:A", property="p", id="i", source="s", line=1, constraint="c",
        holders=("x", "y"),
    )  # fmt: skip
    for problem in (full, Problem(reason=Reason.BAD_DATE, message="m")):
        assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize("end", ["receipt", "attempt"])
def test_what_is_no_attempt_and_no_receipt_is_refused(graph: og.Graph, end: str):
    attempt = graph.bulk().attempt(named(person("ann")))
    whole = attempt if end == "attempt" else attempt.receipts[0]
    kind, form = (BulkAttempt, "attempt") if end == "attempt" else (BulkReceipt, "format")
    facts = json.loads(whole.to_json())
    garbled = [
        json.dumps(facts | {form: 99}),
        json.dumps({name: value for name, value in facts.items() if name != form}),
        json.dumps(facts | {"surprise": 1}),
        json.dumps({form: facts[form]}),
        json.dumps(facts | ({"receipts": [{}]} if end == "attempt" else {"written": [{}]})),
        json.dumps(facts | ({"problems": [{"reason": "x"}]} if end == "attempt" else {"pin": {}})),
        whole.to_json()[:-1],
        "[]",
        "null",
        "",
    ]
    for text in garbled:
        with pytest.raises(InvalidInputError, match="no receipt of a bulk write") as caught:
            kind.from_json(text)
        assert "unchanged" in (caught.value.help or "")
        with pytest.raises(InvalidInputError, match="no receipt of a bulk write"):
            graph.bulk_publish([text])


def test_attempts_in_any_form_are_published_together(graph: og.Graph):
    ticket = graph.bulk()
    one = ticket.attempt(named(person("ann")))
    two = ticket.attempt(named(knows("ann", "bo")))
    three = ticket.write("Person", pa.table({"handle": ["bo"]}))
    done = graph.bulk_publish([one, two.to_json(), three])
    assert (done.nodes, done.edges) == ({"Person": 2}, {"Knows": 1})


# ── several attempts ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_attempt_is_moved_behind_the_lines_before_it(graph: og.Graph):
    ticket = graph.bulk()
    attempt = ticket.attempt(named("{\n\n["))
    assert [each.line for each in attempt.moved(10).problems] == [11, 13]
    assert attempt.moved(0) == attempt
    columns = ticket.attempt({"Person": pa.table({"handle": ["a"], "colour": [1]})})
    assert columns.moved(10) == columns


def test_records_that_are_no_rows_are_told_before_rules_that_are_broken(graph: og.Graph):
    ticket = graph.bulk()
    broken, unreadable = ticket.attempt(named(person("ann", age=-1))), ticket.attempt(named("{"))
    together = BulkAttempt.together([broken, unreadable])
    assert not together.is_readable
    assert told(together.problems) == [("malformed_json", "in.jsonl", 1)]
    with pytest.raises(InvalidInputError, match="not JSON"):
        together.raise_problems()
    fine = ticket.attempt(named(person("bo")))
    both = BulkAttempt.together([broken, fine, broken])
    assert both.counts == {"range": 2}
    assert len(both.receipts) == 3
    with pytest.raises(ConstraintError):
        both.raise_problems()
    BulkAttempt.together([fine, fine]).raise_problems()
    BulkAttempt.together([]).raise_problems()


def test_rows_that_could_not_be_read_are_never_left_out_in_silence(graph: og.Graph):
    ticket = graph.bulk()
    good, bad = ticket.attempt(named(person("ann"))), ticket.attempt(named("{"))
    with pytest.raises(InternalError, match="could not be read"):
        graph.bulk_publish([good, replace(bad, problems=(), counts={})], "append")
    assert len(graph.table("Person")) == 0


def test_of_many_problems_a_hundred_are_kept_and_all_are_counted(graph: og.Graph):
    ticket = graph.bulk()
    attempts = [ticket.attempt(named("{\n" * 70)) for _ in range(2)]
    together = BulkAttempt.together(attempts)
    assert (len(together.problems), together.counts) == (100, {"malformed_json": 140})


LINES = [
    person("ann", age=151),
    person("bo", mail="m@x"),
    person("cy", mail="m@x"),
    person("bo", age=-2),
    knows("ann", "nobody"),
    knows("ann", "bo"),
    json.dumps({"type": "Note", "data": {"id": "n", "text": "t", "stars": 6}}),
]


def verdict(error: OmnigraphError) -> tuple[Any, ...]:
    problems = Counter(json.dumps(each, sort_keys=True) for each in error.details["problems"])
    return type(error), error.details["counts"], error.details["total"], problems


def in_pieces(ticket: og.BulkTicket, lines: list[str], size: int) -> list[tuple[BulkAttempt, int]]:
    pieces = [(lines[start : start + size], start) for start in range(0, len(lines), size)]
    return [(ticket.attempt(named("\n".join(piece))).moved(start), start) for piece, start in pieces]


def refused_in_pieces(graph: og.Graph, lines: list[str], size: int, mode: str) -> OmnigraphError:
    """What lines are told that are written in pieces and do not make a commit."""
    ticket = graph.bulk()
    pieces = in_pieces(ticket, lines, size)
    starts = {id(receipt): start for attempt, start in pieces for receipt in attempt.receipts}

    def locate(receipt: BulkReceipt, row: int) -> tuple[str, int]:
        start = starts[id(receipt)]
        found = ticket.lines_of(named("\n".join(lines[start : start + size])), receipt.type_key)
        return "in.jsonl", start + int(found[row])

    with pytest.raises((ConstraintError, InvalidInputError)) as caught:
        graph.bulk_publish([attempt for attempt, _ in pieces], mode, locate=locate)
    return caught.value


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("lines", [LINES, [*LINES, "{", person("di", age="x")]], ids=["broken", "unreadable"])
def test_rows_in_pieces_are_refused_in_the_words_of_one_load(graph: og.Graph, size: int, mode: str, lines: list[str]):
    graph.load("\n".join([person("ann"), person("di", mail="m@x"), knows("ann", "di")]), mode="append")
    with pytest.raises((ConstraintError, InvalidInputError)) as expected:
        graph.load(named("\n".join(lines)), mode=mode)
    caught = refused_in_pieces(graph, lines, size, mode)
    assert verdict(caught) == verdict(expected.value)
    assert caught.details["problems"][0]["source"] == "in.jsonl"
    assert len(graph.commits.list()) == 2


@pytest.mark.parametrize("size", [3, 40, 1000])
def test_what_is_kept_of_very_many_problems_does_not_hang_on_the_pieces(graph: og.Graph, size: int):
    """One reason in two types, so that what is found first is not what stands first."""
    lines: list[str] = []
    for number in range(120):
        note = json.dumps({"type": "Note", "data": {"id": f"n{number}", "text": "t", "stars": 6}})
        lines += [person(f"p{number}", age=151, mail="m@x"), note]
    lines.append(knows("p0", "nobody"))
    with pytest.raises(ConstraintError) as expected:
        graph.load(named("\n".join(lines)), mode="append")
    caught = refused_in_pieces(graph, lines, size, "append")
    assert caught.details == expected.value.details
    assert caught.message == expected.value.message
    told = [(each["reason"], each["line"]) for each in caught.details["problems"]]
    assert [line for reason, line in told if reason == "range"] == list(range(1, 101))
    assert Counter(reason for reason, _ in told) == {"range": 100, "unique": 100, "endpoint": 1}
    assert caught.details["counts"] == {"endpoint": 1, "range": 240, "unique": 119}


def test_a_type_without_rows_is_emptied_by_an_overwrite_and_left_alone_otherwise(graph: og.Graph):
    graph.load("\n".join([person("ann"), json.dumps({"type": "Note", "data": {"text": "t"}})]), mode="append")
    empty = {"Note": pa.table({"text": pa.array([], pa.string())})}
    for mode, left in (("append", 1), ("merge", 1), ("overwrite", 0)):
        attempt = graph.bulk().attempt(empty)
        assert [(each.type_key, each.row_count) for each in attempt.receipts] == [("node:Note", 0)]
        assert graph.bulk_publish([attempt], mode).nodes == {"Note": 0}
        assert len(graph.table("Note")) == left
    assert len(graph.table("Person")) == 1
    with pytest.raises(InvalidInputError, match="no rows of Note"):
        graph.bulk().write("Note", empty["Note"])


def test_an_attempt_that_is_shortened_tells_some_of_each_reason_and_counts_all(graph: og.Graph):
    wrong = graph.bulk().attempt(named("\n".join([person("ann", age=-1), person("bo", age=200)])))
    assert len(wrong.problems) == 2
    assert wrong.shortened() == wrong
    both = BulkAttempt(receipts=(), problems=tuple(map(problem, "aaaaaabbbc")), counts={"a": 60, "b": 3, "c": 1})
    short = both.shortened(6)
    assert [str(each.reason) for each in short.problems] == list("aaabbc")
    assert short.problems[:3] == both.problems[:3]
    assert short.counts == both.counts
    assert BulkAttempt.from_json(short.to_json()) == short


def problem(reason: str) -> Problem:
    return Problem(reason=reason, message=f"{reason} is wrong")
