"""JSONL whose lines are rows of one type, without a form around them: the same rows as with it, by the same lines."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from load_world import load
from test_load_agreement import ANY_DATA, DAY, I32, STYLES, TEXT, known

from omnigraph import TypedText
from omnigraph.write.records import reading


def load_rows(text: bytes | str, type_name: str, **options: int):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = "rows.jsonl"  # type: ignore[attr-defined]
    return load(TypedText(type_name=type_name, file=file), **options)


def load_line_by_line(text: bytes, type_name: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "group_rows", lambda *_: None)
        return load_rows(text, type_name, limit=10_000)


def told(loaded) -> list[tuple[int | None, str, str]]:
    return sorted((each.line, each.reason, each.message) for each in loaded.log.kept)


@given(st.lists(st.tuples(ANY_DATA | st.none(), STYLES), max_size=6))
def test_rows_of_a_node_type_are_those_of_its_records(lines):
    rows = ["" if data is None else json.dumps(data, **style) for data, style in lines]
    records = ["" if not row else f'{{"type":"Thing","data":{row}}}' for row in rows]
    plain = load_rows("\n".join(rows).encode(errors="surrogatepass"), "Thing")
    wrapped = load("\n".join(records).encode(errors="surrogatepass"))
    assert repr(plain.rows["node:Thing"]) == repr(wrapped.rows.get("node:Thing", []))
    assert plain.lines["node:Thing"] == wrapped.lines.get("node:Thing", [])
    assert {(line, reason) for line, reason, _ in told(plain)} == {(line, reason) for line, reason, _ in told(wrapped)}


END = TEXT | st.none() | st.integers(0, 1)
LIKES = st.fixed_dictionaries(
    {}, optional={"src": END, "dst": END, "from": END, "to": END, "since": DAY, "note": TEXT, "id": TEXT, "stars": I32}
) | st.fixed_dictionaries({"src": TEXT, "dst": TEXT}, optional={"since": DAY, "note": TEXT, "id": TEXT})


@given(st.lists(st.tuples(LIKES, STYLES), max_size=5))
@example([({"src": "a", "dst": "b", "from": None}, {})])
@example([({"src": "a", "dst": "b"}, {}), ({"from": "a", "to": "b"}, {})])
def test_edges_are_the_same_in_blocks_and_one_by_one(lines):
    text = "\n".join(json.dumps(data, **style) for data, style in lines).encode(errors="surrogatepass")
    assert known(load_rows(text, "Likes", limit=10_000)) == known(load_line_by_line(text, "Likes"))


def test_edges_have_their_ends_under_either_name():
    loaded = load_rows(
        '{"src":"a","dst":"b"}\n\n{"from":"c","to":"d","note":"x"}\n// no row\n{"src":"e","to":"f"}', "Likes"
    )
    assert [(row["src"], row["dst"]) for row in loaded.rows["edge:Likes"]] == [("a", "b"), ("c", "d"), ("e", "f")]
    assert loaded.lines == {"edge:Likes": [1, 3, 5]}


@pytest.mark.parametrize(
    ("row", "reason", "words"),
    [
        ('{"src":"a"}', "bad_envelope", 'an edge needs a member "dst" or "to", and neither is there'),
        ('{"src":"a","from":null,"to":"b"}', "bad_envelope", '"src" or "from", and both are there'),
        ('{"src":"a","to":null}', "wrong_type", '"to" expects String, got null; it is the id of a node'),
        ('{"src":"a","to":"b","stars":1}', "unknown_field", 'unknown input field "stars" of Likes'),
        ("[]", "bad_envelope", "got [], and a row of Likes is an object"),
        ('{"edge":"Likes","from":"a","to":"b","data":{}}', "bad_envelope", "is given without a type"),
        ('{"src":"a","to":"b"', "malformed_json", "the line ends before the object does"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(row, reason, words):
    loaded = load_rows(f'{{"src":"a","dst":"b"}}\n{row}\n', "Likes")
    problem = loaded.problem
    assert (problem.place, problem.reason) == ("rows.jsonl:2", reason)
    assert words in problem.message
    assert loaded.lines["edge:Likes"] == [1]


def test_whole_blocks_are_read_at_once(monkeypatch):
    monkeypatch.setattr(reading, "_read_lines", None)
    rows = "\r\n".join(json.dumps({"src": "a", "dst": f"b{n}", "note": "x"}) for n in range(50))
    assert len(load_rows(rows, "Likes").lines["edge:Likes"]) == 50


def test_a_text_without_rows_names_its_type():
    (batch,) = load_rows("", "Thing").batches
    assert (batch.target.key, batch.rows.num_rows) == ("node:Thing", 0)
