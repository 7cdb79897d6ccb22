"""Validation against an independent model, on random schemas, changes and committed rows, few and many alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

import validation_oracle as oracle
from hypothesis import event, given, settings
from hypothesis import strategies as st
from validation_world import LARGE, SMALL, World

from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation.sets import Limits

IDS = ["a", "b", "c", "d", "é", "f'"]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "String": st.sampled_from(["", "x", "y", 'q"\\']),
    "I32": st.sampled_from([0, 1, -1]),
    "U64": st.sampled_from([0, 2**64 - 1, 2**63]),
    "U32": st.sampled_from([0, 2**32 - 1]),
    "F64": st.sampled_from([0.0, -0.0, 1.5, 1e21, 1e-7]),
    "Bool": st.booleans(),
    "Date": st.sampled_from([0, 19_000]),
    "DateTime": st.sampled_from([0, 86_400_000, 1]),
}
MODES = st.sampled_from(["insert", "upsert", "replace"])
MIXED = Limits(lookup_keys=2, memory_rows=6, build_rows=3, hash_rows=4)


@st.composite
def schemas(draw: st.DrawFn) -> tuple[str, list[oracle.Type], dict[str, dict[str, str]]]:
    """The text of a schema with two node types and two edge types, what the oracle knows of it, and its properties."""
    properties: dict[str, dict[str, str]] = {}
    types, lines = [], []
    for name in ("N", "M"):
        key = ("k",) if draw(st.booleans()) else ()
        kinds = {each: draw(st.sampled_from(sorted(VALUES))) for each in ("p", "q")}
        unique = draw(st.sets(st.sampled_from([("p",), ("q",), ("p", "q")])))
        properties[name] = kinds
        body = " ".join([*(f"{each}: {kind}?" for each, kind in kinds.items()), *_uniques(unique)])
        lines.append(f"node {name} {{ {'k: String @key ' if key else ''}{body} }}")
        types.append(oracle.Type(name, key=key, unique=tuple(sorted(unique))))
    for name in ("E", "F"):
        ends = draw(st.sampled_from([("N", "N"), ("N", "M"), ("M", "N")]))
        kinds = {"p": draw(st.sampled_from(sorted(VALUES)))}
        unique = draw(st.sets(st.sampled_from([("dst", "src"), ("src",), ("dst", "p", "src")])))
        low = draw(st.integers(0, 2))
        high = draw(st.one_of(st.none(), st.integers(max(low, 1), 3)))
        card = "" if (low, high) == (0, None) else f"@card({low}..{'' if high is None else high})"
        properties[name] = kinds
        body = " ".join([f"p: {kinds['p']}?", *_uniques(unique)])
        lines.append(f"edge {name}: {ends[0]} -> {ends[1]} {card} {{ {body} }}")
        types.append(oracle.Type(name, unique=tuple(sorted(unique)), ends=ends, card=(low, high)))
    return "\n".join(lines), types, properties


def _uniques(rules: set[tuple[str, ...]]) -> list[str]:
    return [f"@unique({', '.join(each)})" for each in sorted(rules)]


@st.composite
def records(draw: st.DrawFn, kind: oracle.Type, kinds: dict[str, str], most: int) -> list[dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(IDS), max_size=most))
    made = []
    for name in names:
        record: dict[str, Any] = {"id": name}
        if kind.key:
            record["k"] = name
        if kind.ends is not None:
            record |= {"src": draw(st.sampled_from(IDS)), "dst": draw(st.sampled_from(IDS))}
        made.append(record | {each: draw(st.none() | VALUES[scalar]) for each, scalar in kinds.items()})
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[oracle.Type], dict[str, oracle.Change], dict[str, Any]]:
    text, types, properties = draw(schemas())
    stored: dict[str, Any] = {}
    changes = {}
    for kind in types:
        rows = draw(records(kind, properties[kind.name], 6))
        stored[kind.name] = _sound(kind, rows, stored)
        if draw(st.integers(0, 3)):
            changes[kind.name] = oracle.Change(draw(MODES), draw(records(kind, properties[kind.name], 5)))
    return text, types, changes, stored


def _sound(kind: oracle.Type, rows: list[dict[str, Any]], stored: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that can be committed one after the other; sources that then break a bound lose their edges."""
    kept: list[dict[str, Any]] = []
    world = {**stored, kind.name: kept}
    loose = kind._replace(card=(0, None))
    for row in rows:
        others = [oracle.Type(name) for name in stored]
        if not oracle.judge([*others, loose], {kind.name: oracle.Change("insert", [row])}, world):
            kept.append(row)
    if kind.ends is not None:
        counts = Counter(row["src"] for row in kept)
        low, high = kind.card
        kept = [row for row in kept if low <= counts[row["src"]] and (high is None or counts[row["src"]] <= high)]
    return kept


def verdict(problems: ProblemLog) -> oracle.Verdict:
    return Counter(
        (each.reason, each.message, each.id, each.line or 0, each.constraint, each.holders) for each in problems.kept
    )


@settings(max_examples=80)
@given(cases())
def test_few_rows_are_judged_as_the_specification_says(case):
    text, types, changes, stored = case
    world = World(text, stored)
    problems = world.judge(*(world.change(name, *change) for name, change in changes.items()))
    expected = oracle.judge(types, changes, stored)
    for reason in {each[0] for each in expected} or {"nothing"}:
        event(reason)
    assert verdict(problems) == expected
    assert problems.total == expected.total()


@settings(max_examples=25)
@given(cases(), st.sampled_from([LARGE, MIXED]), st.booleans())
def test_many_rows_are_judged_the_same_way_and_in_the_same_order(case, limits, is_written):
    text, types, changes, stored = case
    small, large = World(text, stored), World(text, stored)
    expected = small.judge(*(small.change(name, *change) for name, change in changes.items()), limits=SMALL)
    made = (large.change(name, *change, is_written=is_written) for name, change in changes.items())
    problems = large.judge(*made, limits=limits)
    assert problems.kept == expected.kept
    assert verdict(problems) == oracle.judge(types, changes, stored)
