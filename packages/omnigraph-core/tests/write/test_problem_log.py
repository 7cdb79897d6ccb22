"""What a log keeps of what is wrong: the first of every reason, whatever was found before them and in which pieces."""

from __future__ import annotations

import json
import random
import uuid

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph.write.bulk.receipts import BulkAttempt, gathered
from omnigraph.write.problems import KEPT, Problem, ProblemLog

TWO_TYPES = "node A { name: String @key  mail: String @unique }  node Z { name: String @key  mail: String @unique }"


def wrong(line: int | None, reason: str = "range", *, source: str | None = "in.jsonl", message: str = "") -> Problem:
    return Problem(reason=reason, message=message or f"{reason} {line}", source=source, line=line)


def lines(log: ProblemLog, reason: str) -> list[int | None]:
    return [each.line for each in log.kept if each.reason == reason]


def test_the_first_of_each_reason_are_kept_however_many_of_others_came_before():
    log = ProblemLog()
    for line in range(1, 1001):
        log.add(wrong(line))
    for line in range(1001, 1004):
        log.add(wrong(line, "endpoint"))
    assert lines(log, "range") == list(range(1, KEPT + 1))
    assert lines(log, "endpoint") == [1001, 1002, 1003]
    assert (log.counts, log.total) == ({"range": 1000, "endpoint": 3}, 1003)


def test_what_is_added_to_a_copy_takes_no_place_in_the_log():
    log = ProblemLog(limit=3)
    log.add(wrong(1))
    copy = log.copy()
    for line in range(2, 9):
        copy.add(wrong(line))
    assert not copy.add(wrong(9))
    assert log.add(wrong(9))
    assert (lines(log, "range"), lines(copy, "range")) == ([1, 9], [1, 2, 3])


def test_the_first_lines_of_a_reason_are_told_whichever_type_and_rule_is_judged_first():
    graph = og.init(f"memory://{uuid.uuid4().hex}/g", schema=TWO_TYPES)
    given = [("Z", "z", 4), ("A", "a", 150)]
    records = [
        json.dumps({"type": kind, "data": {"name": f"{name}{number}", "mail": "same"}})
        for kind, name, count in given
        for number in range(count)
    ]
    with pytest.raises(ConstraintError) as caught:
        graph.load("\n".join(records), "append")
    # The first of each type has its mail for itself.
    told = [each["line"] for each in caught.value.details["problems"]]
    assert told == [2, 3, 4, *range(6, 6 + KEPT - 3)]
    assert caught.value.details["counts"] == {"unique": 3 + 149}


@pytest.mark.parametrize("seed", range(5))
def test_what_stands_first_in_a_text_is_kept_in_whatever_order_it_was_found(seed: int):
    numbers = list(range(1, 300))
    random.Random(seed).shuffle(numbers)
    log = ProblemLog(limit=20)
    for line in numbers:
        log.add(wrong(line))
    assert sorted(lines(log, "range")) == list(range(1, 21))
    assert log.total == 299


def test_an_earlier_line_of_another_file_takes_no_place():
    log = ProblemLog(limit=2)
    for line, source in ((5, "a"), (6, "a"), (1, "b"), (4, "a")):
        log.add(wrong(line, source=source))
    assert [(each.source, each.line) for each in log.kept] == [("a", 5), ("a", 4)]


def test_of_rows_without_lines_the_first_that_are_found_are_kept():
    log = ProblemLog(limit=2)
    kept = [log.add(wrong(None, source=name)) for name in "abc"]
    assert kept == [True, True, False]
    assert [each.source for each in log.kept] == ["a", "b"]


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_pieces_of_a_text_keep_together_what_the_whole_keeps(size: int):
    rng = random.Random(7)
    found = [wrong(line, rng.choice(["range", "enum", "check"])) for line in range(1, 1001)]
    whole = ProblemLog()
    for each in found:
        whole.add(each)
    attempts = []
    for start in range(0, len(found), size):
        log = ProblemLog()
        for each in sorted(found[start : start + size], key=lambda each: each.reason):
            log.add(each)
        attempts.append(BulkAttempt(receipts=(), problems=tuple(log.kept), counts=dict(log.counts)))
    together = gathered(attempts, are_readable=True)
    assert together.counts == whole.counts
    assert {(each.reason, each.line) for each in together.kept} == {(each.reason, each.line) for each in whole.kept}
    assert told(together) == told(whole)


def told(log: ProblemLog) -> tuple[str, list[dict[str, object]]]:
    with pytest.raises(ConstraintError) as caught:
        log.raise_violated()
    return caught.value.message, caught.value.details["problems"]


# ── the text of the error ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_message_shows_examples_of_every_reason_and_says_how_many_are_left():
    log = ProblemLog()
    for line in range(1, 201):
        log.add(wrong(line))
    for line in (500, 600):
        log.add(wrong(line, "endpoint"))
    log.add(wrong(700, "unique"))
    message, problems = told(log)
    first, *shown, last = message.split("\n")
    assert first == "203 problems (2 endpoint, 200 range, 1 unique):"
    assert shown == [
        *(f"  in.jsonl:{line}: range {line}" for line in range(1, 18)),
        "  in.jsonl:500: endpoint 500",
        "  in.jsonl:600: endpoint 600",
        "  in.jsonl:700: unique 700",
    ]
    assert last == "  and 183 more"
    assert len(problems) == 103


def test_lines_of_the_message_are_shared_between_reasons_that_have_many():
    log = ProblemLog()
    for reason in ("bad_date", "wrong_type", "unknown_field"):
        for line in range(1, 51):
            log.add(wrong(line, reason))
    with pytest.raises(InvalidInputError) as caught:
        log.raise_invalid()
    shown = caught.value.message.split("\n")[1:-1]
    assert len(shown) == 20
    for reason in ("bad_date", "wrong_type", "unknown_field"):
        assert sum(reason in line for line in shown) in (6, 7)


def test_a_few_problems_are_all_shown_and_one_stands_alone():
    log = ProblemLog()
    log.add(wrong(3))
    assert told(log)[0] == "in.jsonl:3: range 3"
    log.add(wrong(1, "enum"))
    assert told(log)[0] == "2 problems (1 enum, 1 range):\n  in.jsonl:1: enum 1\n  in.jsonl:3: range 3"
