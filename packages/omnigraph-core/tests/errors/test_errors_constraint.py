"""A violated rule names the type, the row, the rule and both holders: of a real load, and of every rule there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError

SCHEMA = """
node Person { handle: String @key  mail: String? @unique  age: I32? @range(age, 0..150) }
node Note { text: String  mood: enum(red, blue)?  code: String? @check(code, "^[A-Z]+$") }
edge Knows: Person -> Person @card(0..1) { since: I32?  @unique(src, dst) }
"""
Record = Mapping[str, Any]


def person(handle: str, **values: Any) -> Record:
    return {"type": "Person", "data": {"handle": handle, **values}}


def note(name: str, **values: Any) -> Record:
    return {"type": "Note", "data": {"id": name, "text": "x", **values}}


def knows(name: str, src: str, dst: str) -> Record:
    return {"edge": "Knows", "from": src, "to": dst, "data": {"id": name}}


SEED = [person("ann", mail="a@x.org"), person("bo"), note("n1"), knows("k1", "ann", "bo")]
# What is loaded, how, and what the error says of it.
VIOLATIONS: dict[str, tuple[list[Record], str, tuple[Any, ...]]] = {
    "a unique value that is committed": (
        [person("cy", mail="a@x.org")],
        "append",
        ("node:Person", "cy", "@unique(mail)", ("ann", "cy")),
    ),
    "a unique value twice in one load": (
        [person("cy", mail="c@x.org"), person("di", mail="c@x.org")],
        "append",
        ("node:Person", "di", "@unique(mail)", ("cy", "di")),
    ),
    "a unique tuple of edges": (
        [knows("k2", "bo", "ann"), knows("k3", "bo", "ann")],
        "append",
        ("edge:Knows", "k3", "@unique(dst, src)", ("k2", "k3")),
    ),
    "a key that is committed": ([person("bo")], "append", ("node:Person", "bo", "@key(handle)", ("bo", "bo"))),
    "a key twice in one load": (
        [person("cy"), person("cy")],
        "append",
        ("node:Person", "cy", "@key(handle)", ("cy", "cy")),
    ),
    "an id that is committed": ([note("n1")], "append", ("node:Note", "n1", "id", ("n1", "n1"))),
    "an id twice in one load": ([note("n2"), note("n2")], "append", ("node:Note", "n2", "id", ("n2", "n2"))),
    "a source that is not there": (
        [knows("k2", "zoe", "bo")],
        "append",
        ("edge:Knows", "k2", "endpoint src", ("zoe",)),
    ),
    "a target that is not there": (
        [knows("k2", "bo", "zoe")],
        "append",
        ("edge:Knows", "k2", "endpoint dst", ("zoe",)),
    ),
    "an edge that stays behind": (
        [person("ann")],
        "overwrite",
        ("edge:Knows", "k1", "endpoint dst", ("bo",)),
    ),
    "too many edges": ([knows("k2", "ann", "ann")], "append", ("edge:Knows", "k2", "@card(0..1)", ("ann",))),
    "a number beyond its range": ([person("cy", age=151)], "append", ("node:Person", "cy", "@range(age)", ())),
    "a text without the pattern": ([note("n2", code="a1")], "append", ("node:Note", "n2", "@check(code)", ())),
    "a value that the enum has not": ([note("n2", mood="pink")], "append", ("node:Note", "n2", "enum", ())),
}


@pytest.mark.parametrize("case", VIOLATIONS)
def test_a_violation_names_the_type_the_row_the_rule_and_its_holders(case: str, request: pytest.FixtureRequest) -> None:
    records, mode, told = VIOLATIONS[case]
    with og.init(f"memory://{request.node.name}", schema=SCHEMA) as graph:
        graph.load(SEED, mode="append")
        with pytest.raises(ConstraintError) as caught:
            graph.load(records, mode=mode)
    error = caught.value
    assert (error.type_key, error.id, error.constraint, error.holders) == told
    assert error.violations[0]["constraint"] == told[2]
    assert tuple(error.violations[0].get("holders", ())) == told[3]
    assert [dict(each) for each in error.violations] == error.details["problems"]


def test_a_source_with_too_few_edges_is_the_holder() -> None:
    schema = "node A { k: String @key }  edge E: A -> A @card(2..)"
    records = [{"type": "A", "data": {"k": "a"}}, {"edge": "E", "from": "a", "to": "a", "data": {"id": "e"}}]
    with og.init("memory://too-few", schema=schema) as graph, pytest.raises(ConstraintError) as caught:
        graph.load(records, mode="append")
    assert (caught.value.id, caught.value.constraint, caught.value.holders) == ("e", "@card(2..)", ("a",))


def test_every_violation_is_there_and_the_first_one_speaks_for_all() -> None:
    with og.init("memory://violations", schema=SCHEMA) as graph, pytest.raises(ConstraintError) as caught:
        graph.load([person("ann", age=-1), note("n1", mood="pink"), knows("k1", "ann", "zoe")], mode="append")
    error = caught.value
    assert [each["constraint"] for each in error.violations] == ["@range(age)", "enum", "endpoint dst"]
    assert (error.type_key, error.id, error.constraint, error.holders) == ("node:Person", "ann", "@range(age)", ())


def test_violations_cannot_be_changed_by_whoever_catches_the_error() -> None:
    error = ConstraintError("It is wrong.", details={"problems": [{"constraint": "enum"}]})
    with pytest.raises(TypeError):
        error.violations[0]["constraint"] = "id"  # type: ignore[index]
    with pytest.raises(AttributeError):
        error.constraint = "id"  # type: ignore[misc]


def test_an_error_without_violations_names_nothing() -> None:
    error = ConstraintError("A rule is broken.")
    assert (error.type_key, error.id, error.constraint, error.holders, error.violations) == (None, None, None, (), ())
