"""Vectors that records leave out: which of them can be made, told apart from null, in all kinds of input."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from embedding_world import SCHEMA, choose_embedder
from hypothesis import given
from hypothesis import strategies as st
from load_world import Loaded
from load_world import load as load_any

from omnigraph.write.records import reading as records
from omnigraph.write.records.envelopes import EnvelopeReader
from omnigraph.write.records.json_blocks import group_lines, read_block
from omnigraph.write.records.ndjson import Piece

FORMS = ("text", "lines one by one", "records", "arrow")


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_embedder(monkeypatch, "mock")


def load(data, **options) -> Loaded:
    return load_any(data, schema=SCHEMA, **options)


def load_essays(form, *essays, kind="Essay", **options):
    """Load the properties of nodes in one of the forms; in Arrow all of them have the columns of the first."""
    if form == "arrow":
        table = pa.table({name: [each.get(name) for each in essays] for name in essays[0]})
        return load({kind: table}, **options)
    found = [{"type": kind, "data": each} for each in essays]
    if form == "records":
        return load(found, **options)
    if form == "lines one by one":
        # The type stands last, which is unusual.
        return load("\n".join(json.dumps(dict(reversed(each.items()))) for each in found), **options)
    return load("\n".join(map(json.dumps, found)), **options)


def unmade(loaded):
    """By property, the lines of the rows whose vector is to be made."""
    found = {}
    for batch in loaded.batches:
        for name, mask in batch.unmade.items():
            assert mask.any()
            assert batch.rows.column(name).filter(pa.array(mask)).null_count == mask.sum()
            found.setdefault(name, []).extend(batch.lines[mask].tolist())
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_vector_that_is_left_out_is_to_be_made_where_there_is_a_text(form):
    loaded = load_essays(form, {"title": "a", "body": "x"}, {"title": "b", "body": None}, {"title": "c", "body": ""})
    assert not loaded.log
    assert unmade(loaded) == {"bodyVec": [1, 3]}


@pytest.mark.parametrize("form", FORMS)
def test_a_vector_that_is_null_stays_null(form):
    loaded = load_essays(form, {"title": "a", "body": "x", "bodyVec": None}, {"title": "b", "body": "y"})
    assert not loaded.log
    # A column of Arrow says null for each of its rows.
    assert unmade(loaded) == ({} if form == "arrow" else {"bodyVec": [2]})
    assert [row["bodyVec"] for row in loaded.rows["node:Essay"]] == [None, None]


@pytest.mark.parametrize("form", FORMS)
def test_a_vector_that_is_given_is_taken_as_it_is(form):
    loaded = load_essays(form, {"title": "a", "body": "x", "bodyVec": [1, 2, 3, 4]})
    assert unmade(loaded) == {}
    assert loaded.rows["node:Essay"][0]["bodyVec"] == [1, 2, 3, 4]


@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_is_left_out_leaves_a_vector_that_may_be_null_null(form):
    loaded = load_essays(form, {"title": "a"})
    assert not loaded.log
    assert unmade(loaded) == {}


@pytest.mark.parametrize("form", FORMS)
def test_required_vectors_may_be_left_out_like_others(form):
    loaded = load_essays(form, {"code": "a", "title": "t", "plot": "p"}, kind="Film")
    assert not loaded.log
    assert unmade(loaded) == {"face": [1], "need": [1], "plotVec": [1]}


@pytest.mark.parametrize("form", FORMS)
def test_a_required_vector_without_a_text_is_refused_with_the_name_of_the_source(form):
    good, bad = {"code": "a", "plot": "p", "title": "t"}, {"code": "b", "plot": None, "title": "t"}
    loaded = load_essays(form, good, bad, kind="Film")
    assert loaded.problems == [(2, "missing_required", "need")]
    assert loaded.problem.message == (
        "missing required property 'need' of Film, and 'plot', which it is made from, has no text; give one of the two"
    )
    assert unmade(loaded) == {"face": [1], "need": [1], "plotVec": [1]}


@pytest.mark.parametrize("form", FORMS)
def test_a_required_vector_whose_source_is_left_out_is_refused(form):
    loaded = load_essays(form, {"code": "a", "title": "t"}, kind="Film")
    assert [problem[1:] for problem in loaded.problems] == [("missing_required", "need")]
    assert "and 'plot', which it is made from, has no text" in loaded.problem.message


@pytest.mark.parametrize("form", FORMS)
def test_a_required_source_that_is_missing_is_told_once(form):
    loaded = load_essays(form, {"code": "a", "plot": "p"}, kind="Film")
    assert [problem[1:] for problem in loaded.problems] == [("missing_required", "title")]


@pytest.mark.parametrize("form", FORMS)
def test_a_source_of_another_type_is_told_once(form):
    loaded = load_essays(form, {"code": "a", "plot": 5, "title": "t"}, kind="Film")
    assert [problem[1:] for problem in loaded.problems] == [("wrong_type", "plot")]


def test_a_text_that_does_not_fit_in_arrow_is_told_once():
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    loaded = load({"Film": pa.table({"code": ["a"], "plot": broken, "title": ["t"]})})
    assert loaded.problems == [(1, "invalid_utf8", "plot")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_chosen", [True, False])
def test_a_required_vector_that_is_null_is_refused(form, is_chosen, monkeypatch):
    choose_embedder(monkeypatch, "mock" if is_chosen else None)
    film = {"code": "a", "title": "t", "plot": "p", "need": [1, 0], "face": None}
    loaded = load_essays(form, film, kind="Film")
    assert loaded.problems == [(1, "missing_required", "face")]
    assert loaded.problem.message == (
        "non-nullable property 'face' of Film is null; give the vector, or leave it out to have it made from 'title'"
    )


# ── no embedder ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", FORMS)
def test_without_an_embedder_a_vector_that_may_be_null_is_null(form, monkeypatch):
    choose_embedder(monkeypatch, None)
    loaded = load_essays(form, {"title": "a", "body": "x"})
    assert not loaded.log
    assert unmade(loaded) == {}
    assert loaded.rows["node:Essay"][0]["bodyVec"] is None


@pytest.mark.parametrize("form", FORMS)
def test_without_an_embedder_a_required_vector_names_the_source_and_the_setting(form, monkeypatch):
    choose_embedder(monkeypatch, None)
    loaded = load_essays(form, {"code": "a", "title": "t", "plot": "p", "need": [1, 0]}, kind="Film")
    # What is wrong with the columns of Arrow is told for all rows at once.
    assert loaded.problems == [(None if form == "arrow" else 1, "missing_required", "face")]
    assert loaded.problem.message == (
        "missing required property 'face' of Film; no embedder is configured to make it from 'title': "
        "set OMNIGRAPH_EMBED_PROVIDER and its key, or give the vector"
    )


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_without_vectors_are_read_as_blocks_whatever_they_say():
    lines = [
        '{"type":"Essay","data":{"title":"a","body":"x"}}',
        '{"type":"Essay","data":{"title":"b","body":"\\"bodyVec\\":null \\u003c","bodyVec" : null}}',
        '{"type":"Essay","data":{"title":"c","body":"bodyVec","bodyVec":[1,2,3,4]}}',
        '{"type":"Essay","data":{"title":"d","body":null}}',
        '{"type":"Essay","data":{"title":"e","body":"\\"bodyVec\\":null"}}',
    ]
    (block,) = group_lines(Piece("\n".join(lines).encode(), 1), EnvelopeReader(SCHEMA))
    rows = read_block(block, None)
    assert rows is not None
    assert rows.lines[rows.unmade["bodyVec"]].tolist() == [1, 5]


def test_the_name_of_a_vector_may_be_written_with_escapes():
    loaded = load('{"type":"Essay","data":{"title":"a","body":"x","body\\u0056ec":null}}')
    assert unmade(loaded) == {}


VECTORS = st.none() | st.just([1, 2, 3, 4]) | st.just([1]) | st.just("x")
BODIES = st.none() | st.sampled_from(["", "x", '"bodyVec":null', "\u2603"]) | st.just(5)
ESSAYS = st.fixed_dictionaries({"title": st.text(max_size=2)}, optional={"body": BODIES, "bodyVec": VECTORS})


@given(st.lists(ESSAYS, max_size=6), st.booleans(), st.integers(1, 40))
def test_the_same_vectors_are_to_be_made_in_blocks_and_one_by_one(essays, is_ascii, chunk_bytes):
    lines = [{"type": "Essay", "data": each} for each in essays]
    text = "\n".join(json.dumps(each, ensure_ascii=is_ascii) for each in lines).encode(errors="surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        choose_embedder(patch, "mock")
        blocks = load(text, chunk_bytes=chunk_bytes)
        patch.setattr(records, "group_lines", lambda *_: None)
        single = load(text)
    assert unmade(blocks) == unmade(single)
    assert blocks.rows == single.rows
    assert blocks.problems == single.problems


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


VECTOR_BYTES = 4 * 4


@pytest.mark.parametrize("form", FORMS)
def test_batches_stay_small_although_null_takes_the_space_of_a_vector(form):
    essays = [{"title": f"e{number}", "body": "x"} for number in range(100)]
    loaded = load_essays(form, *essays, chunk_bytes=7 * VECTOR_BYTES)
    assert max(each.rows.num_rows for each in loaded.batches) <= 7
    assert loaded.lines["node:Essay"] == list(range(1, 101))
    assert unmade(loaded) == {"bodyVec": list(range(1, 101))}


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_wrong_take_their_vectors_with_them(form):
    essays = [{"id": each, "title": "abc"[at], "body": "x"} for at, each in enumerate(["a", "wrong", "c"])]
    loaded = load_essays(form, *essays)
    assert loaded.problems == [(2, "id_mismatch", "id")]
    assert unmade(loaded) == {"bodyVec": [1, 3]}


@pytest.mark.parametrize("form", ["lines one by one", "records"])
def test_a_record_that_is_refused_leaves_no_vector_to_the_next_one(form):
    bad = {"title": "a", "body": "x", "colour": 1}
    loaded = load_essays(form, bad, {"title": "b"}, bad, {"title": "c", "body": "y"})
    assert loaded.problems == [(1, "unknown_field", "colour"), (3, "unknown_field", "colour")]
    assert unmade(loaded) == {"bodyVec": [4]}
