"""Random loads, one after the other: a real graph and the model accept the same, refuse the same and hold the same."""

from __future__ import annotations

import os
import secrets
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph.schema import compile_schema
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export

SCHEMA = """
node Person { name: String @key  mail: String? @unique  age: I32?  @range(age, 0..99) }
node Seat { hall: String  row: I32  note: String?  @key(row, hall) }
node Note { text: String  mood: enum(good, bad)? }
edge Knows: Person -> Person
edge Rated: Person -> Note { stars: I32  @unique(src, dst) }
edge Sits: Person -> Seat @card(0..1)
"""
CATALOG = compile_schema(SCHEMA)
EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "15"))

NAMES = st.sampled_from(["ann", "bo", "cy"])
NOTES = st.sampled_from(["n1", "n2"])
SEATS = st.sampled_from(['["north","1"]', '["north","2"]', '["söuth","1"]'])


def record(kind: str, name: str, **parts: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({kind: st.just(name), **parts})


def optional(**values: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    return {name: st.none() | values[name] for name in values}


def with_id(ids: st.SearchStrategy[str], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(values, optional={"id": ids})


RECORDS = st.one_of(
    record(
        "type",
        "Person",
        data=st.fixed_dictionaries(
            {"name": NAMES},
            optional=optional(mail=st.sampled_from(["a@x", "b@x"]), age=st.sampled_from([0, 7, 99, 100, -1])),
        ),
    ),
    record(
        "type",
        "Seat",
        data=st.fixed_dictionaries(
            {"hall": st.sampled_from(["north", "söuth"]), "row": st.sampled_from([1, 2])},
            optional=optional(note=st.sampled_from(["", "window"])),
        ),
    ),
    record(
        "type",
        "Note",
        data=st.fixed_dictionaries(
            {"text": st.sampled_from(["", "x", "ünï"])},
            optional={"id": NOTES, "mood": st.sampled_from([None, "good", "bad", "angry"])},
        ),
    ),
    record("edge", "Knows", **{"from": NAMES, "to": NAMES, "data": with_id(st.sampled_from(["k1", "k2"]))}),
    record(
        "edge",
        "Rated",
        **{"from": NAMES, "to": NOTES, "data": with_id(st.sampled_from(["r1", "r2"]), stars=st.sampled_from([1, 5]))},
    ),
    record("edge", "Sits", **{"from": NAMES, "to": SEATS, "data": with_id(st.sampled_from(["s1", "s2"]))}),
)

# A first load without accidents, so that later ones have something to meet.
START = [
    *({"type": "Person", "data": {"name": name}} for name in ("ann", "bo")),
    {"type": "Note", "data": {"id": "n1", "text": "x"}},
    {"type": "Seat", "data": {"hall": "north", "row": 1}},
    {"edge": "Rated", "from": "ann", "to": "n1", "data": {"stars": 3}},
]
LOADS = st.lists(
    st.tuples(st.sampled_from(["append", "merge", "overwrite"]), st.lists(RECORDS, max_size=5)), min_size=1, max_size=5
)


@settings(max_examples=EXAMPLES)
@given(LOADS)
def test_a_graph_agrees_with_the_model(loads: list[tuple[Any, list[dict[str, Any]]]]):
    model = ModelGraph(CATALOG)
    states = []
    with og.init(f"memory://model-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        for mode, records in [("append", START), *loads]:
            before = graph.snapshot().commit.id
            refusals = [_refusal(lambda: model.load(records, mode)), _refusal(lambda: graph.load(records, mode))]  # noqa: B023
            assert (refusals[0] is None) == (refusals[1] is None), f"{mode} {records}: {refusals}"
            assert content_of_export(graph.export(), model) == model.content(), f"{mode} {records}"
            assert (graph.snapshot().commit.id == before) == (refusals[1] is not None)
            states.append((graph.snapshot().commit.id, list(graph.export())))
        for commit, exported in states:
            assert list(graph.export(snapshot=commit)) == exported
        assert_graph_is_whole(graph)


def _refusal(load: Any) -> Exception | None:
    try:
        load()
    except (ModelRefusalError, ConstraintError, InvalidInputError) as error:
        return error
    return None
