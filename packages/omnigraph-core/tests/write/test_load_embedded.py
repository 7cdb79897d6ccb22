"""Loads whose records leave vectors out: what is stored, when the embedder is asked, and what a failure leaves."""

from __future__ import annotations

import json
import secrets
import threading
from functools import partial

import pyarrow as pa
import pytest
from embedding_world import FILMS, SeenRequests, choose_embedder, mock_list

import omnigraph as og
from omnigraph.errors import ConstraintError, EmbeddingError, InvalidInputError, OmnigraphError
from omnigraph.history.schemas import GraphSchema
from omnigraph.write import load as loading
from omnigraph.write import unmade_rows
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records.reading import read_records


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_embedder(monkeypatch, "mock")


@pytest.fixture
def graph() -> og.Graph:
    return og.init(f"memory://embedded-{secrets.token_hex(8)}", schema=FILMS)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> SeenRequests:
    return SeenRequests(monkeypatch)


@pytest.fixture(params=["in memory", "partly in a file", "in a file"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows wait for their vectors; with a file, each record is a batch of its own."""
    if request.param != "in memory":
        monkeypatch.setattr(unmade_rows, "HELD_BYTES", 0 if request.param == "in a file" else 150)
        monkeypatch.setattr(loading, "read_records", partial(read_records, chunk_rows=1))


def essay(title, **data):
    return {"type": "Essay", "data": {"title": title, **data}}


def vectors(graph, kind="Essay", name="bodyVec"):
    return {row["id"]: row[name] for row in graph.table(kind).rows()}


ESSAYS = [
    essay("a", body="x"),
    essay("b", body="y", bodyVec=[1, 2, 3, 4]),
    essay("c", body="x"),
    essay("d", body="z", bodyVec=None),
    essay("e"),
    essay("f", body="\u2603"),
]
MADE = {
    "a": mock_list("x", 4),
    "b": [1, 2, 3, 4],
    "c": mock_list("x", 4),
    "d": None,
    "e": None,
    "f": mock_list("\u2603", 4),
}


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("form", ["text", "records"])
def test_vectors_that_are_left_out_are_made_from_their_texts(graph, seen, held, mode, form):
    done = graph.load("\n".join(map(json.dumps, ESSAYS)) if form == "text" else ESSAYS, mode)
    assert done.nodes == {"Essay": 6}
    assert vectors(graph) == MADE
    assert set(seen.texts) == {"x", "\u2603"}


def test_a_column_that_arrow_data_does_not_have_is_made(graph, seen, held):
    table = pa.table({"title": ["a", "b", "c"], "body": ["x", None, "x"]})
    graph.load({"Essay": table}, "append")
    assert vectors(graph) == {"a": mock_list("x", 4), "b": None, "c": mock_list("x", 4)}


def test_several_vectors_of_a_type_are_made_each_from_its_source(graph, held):
    film = {"code": "f", "title": "t", "plot": "p", "free": [1, 2, 3]}
    graph.load([{"type": "Film", "data": film}], "append")
    (row,) = graph.table("Film").rows()
    assert (row["face"], row["need"], row["plotVec"]) == (mock_list("t", 2), mock_list("p", 2), mock_list("p", 4))
    assert row["free"] == [1, 2, 3]


def test_each_distinct_text_is_asked_for_once(graph, seen):
    graph.load([essay(f"e{number}", body=f"text {number % 3}") for number in range(1_000)], "append")
    assert seen.requests == [["text 0", "text 1", "text 2"]]


def test_many_texts_are_asked_for_in_bounded_requests(graph, seen, monkeypatch):
    monkeypatch.setattr(unmade_rows, "WINDOW_ROWS", 300)
    graph.load([essay(f"e{number}", body=f"text {number}") for number in range(700)], "append")
    assert [len(request) for request in seen.requests] == [256, 44, 256, 44, 100]
    assert vectors(graph) == {f"e{number}": mock_list(f"text {number}", 4) for number in range(700)}


def test_rows_that_wait_take_no_space_for_vectors_until_they_have_them(monkeypatch):
    wide = "node Wide { name: String @key  text: String  vec: Vector(1024) @embed(text) }"
    schema = GraphSchema.new(wide, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    records = [{"type": "Wide", "data": {"name": f"w{number}", "text": "x"}} for number in range(100)]
    waiting = unmade_rows.UnmadeRows()
    for typed in read_records(records, schema, ProblemLog()):
        assert typed.rows.nbytes > 100 * 4096
        assert waiting.take(typed)
    assert waiting.held_bytes < 100 * 60
    monkeypatch.setattr(unmade_rows, "WINDOW_BYTES", 4096 * 30)
    made = list(waiting.with_vectors())
    assert [each.rows.num_rows for each in made] == [30, 30, 30, 10]
    assert made[-1].rows.column("vec")[-1].as_py() == mock_list("x", 1024)
    assert waiting.held_bytes == 0


def test_the_last_of_several_records_of_one_id_counts_whether_it_waits_or_not(graph, held):
    notes = [
        {"type": "Note", "data": {"id": "n", "text": "first", "vec": [1, 0, 0, 0]}},
        {"type": "Note", "data": {"id": "n", "text": "second"}},
        {"type": "Note", "data": {"id": "m", "text": "third"}},
        {"type": "Note", "data": {"id": "m", "text": "fourth", "vec": [0, 1, 0, 0]}},
    ]
    graph.load(notes, "merge")
    assert vectors(graph, "Note", "vec") == {"n": mock_list("second", 4), "m": [0, 1, 0, 0]}
    assert vectors(graph, "Note", "text") == {"n": "second", "m": "fourth"}


def test_a_merge_makes_the_vector_of_the_new_text(graph):
    graph.load([essay("a", body="x")], "append")
    graph.load([essay("a", body="y")], "merge")
    assert vectors(graph) == {"a": mock_list("y", 4)}


def test_an_export_comes_back_as_it_was(graph, seen):
    graph.load(ESSAYS, "append")
    exported, asked = list(graph.export()), len(seen.requests)
    with og.init(f"memory://embedded-{secrets.token_hex(8)}", schema=FILMS) as copy:
        copy.load("\n".join(exported), "append")
        assert list(copy.export()) == exported
    assert len(seen.requests) == asked


def test_progress_tells_how_many_have_their_vectors(graph, monkeypatch):
    monkeypatch.setattr(unmade_rows, "WINDOW_ROWS", 4)
    told = []
    graph.load(ESSAYS, "append", progress=lambda at: told.append((at.phase, at.records)))
    assert told == [
        ("reading", 0), ("reading", 6), ("embedding", 4), ("embedding", 6), ("checking", 6), ("publishing", 6)
    ]  # fmt: skip


# ── nobody is asked in vain ──────────────────────────────────────────────────────────────────────────────────────────


def refused(graph, kind, data):
    """The error of a load that leaves the graph as it is."""
    before, commits = list(graph.export()), graph.commits.list()
    with pytest.raises(kind) as caught:
        graph.load(data, "append")
    assert (list(graph.export()), graph.commits.list()) == (before, commits)
    return caught.value


def test_nothing_is_embedded_of_an_input_with_a_problem(graph, seen, held, tmp_path):
    path = tmp_path / "essays.jsonl"
    path.write_text("\n".join([*map(json.dumps, ESSAYS), '{"type":"Essay","data":{"title":5}}']))
    error = refused(graph, InvalidInputError, path)
    assert [(each["source"], each["line"], each["reason"]) for each in error.details["problems"]] == [
        (str(path), 7, "wrong_type")
    ]
    assert seen.requests == []


def test_a_missing_vector_is_told_with_file_and_line(graph, seen, tmp_path, monkeypatch):
    choose_embedder(monkeypatch, None)
    path = tmp_path / "films.jsonl"
    path.write_text('\n{"type":"Film","data":{"code":"a","title":"t","face":[1,0],"plot":"p"}}\n')
    error = refused(graph, InvalidInputError, path)
    (problem,) = error.details["problems"]
    assert (problem["source"], problem["line"], problem["property"]) == (str(path), 2, "need")
    assert "no embedder is configured to make it from 'plot': set OMNIGRAPH_EMBED_PROVIDER" in problem["message"]
    assert seen.requests == []


def test_a_load_of_a_known_name_embeds_nothing(graph, seen):
    graph.load(ESSAYS, "append", load_id="monday")
    asked = len(seen.requests)
    graph.load(ESSAYS, "append", load_id="monday")
    assert len(seen.requests) == asked


def test_rules_of_the_schema_are_judged_with_file_and_line_when_vectors_are_made(graph, held, tmp_path):
    path = tmp_path / "essays.jsonl"
    path.write_text("\n".join(map(json.dumps, [*ESSAYS, essay("a", body="again")])))
    error = refused(graph, ConstraintError, path)
    assert {(each["source"], each["line"]) for each in error.details["problems"]} == {(str(path), 7)}


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [1, 3])
def test_an_embedder_that_fails_fails_the_load_and_nothing_is_written(graph, seen, held, monkeypatch, number):
    monkeypatch.setattr(unmade_rows, "WINDOW_ROWS", 1)
    seen.fails_at = number
    films = [{"type": "Film", "data": {"code": "a", "title": "t", "plot": "p"}}]
    error = refused(graph, EmbeddingError, [*ESSAYS, *films])
    assert "Nothing was written." in error.__notes__[0]
    assert len(seen.requests) == number
    seen.fails_at = None
    graph.load(ESSAYS, "append")
    assert vectors(graph) == MADE


def test_a_server_that_cannot_be_reached_fails_the_load(graph, monkeypatch):
    choose_embedder(monkeypatch, "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "1")
    error = refused(graph, EmbeddingError, ESSAYS)
    assert error.provider == "openai"
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OMNIGRAPH_EMBED_MODEL": "other/embed"}, 'of the model "demo/embed", and the embedder "mock" is configured'),
        ({"OMNIGRAPH_EMBED_PROVIDER": "no-such"}, "no plugin offers it"),
        ({"OMNIGRAPH_EMBED_PROVIDER": "openai"}, "OPENAI_API_KEY is not set"),
        ({"OMNIGRAPH_EMBEDDINGS_MOCK": "perhaps"}, "OMNIGRAPH_EMBEDDINGS_MOCK is 'perhaps'"),
    ],
)
def test_an_embedder_that_is_configured_wrongly_fails_the_load(graph, monkeypatch, variables, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    film = {"code": "a", "title": "t", "plot": "p", "face": [1, 0], "need": [1, 0]}
    error = refused(graph, InvalidInputError, [{"type": "Film", "data": film}])
    assert message in str(error)


def test_types_without_such_vectors_do_not_ask_for_settings(monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "perhaps")
    with og.init(f"memory://embedded-{secrets.token_hex(8)}", schema=f"{FILMS} node Plain {{ name: String }}") as graph:
        assert graph.load([{"type": "Plain", "data": {"name": "a"}}], "append").total == 1


def test_others_read_and_write_while_an_embedder_is_asked(graph, seen, monkeypatch):
    asked, go_on = threading.Event(), threading.Event()
    ask = unmade_rows.embed_documents

    def wait(*given, **more):
        asked.set()
        assert go_on.wait(20)
        return ask(*given, **more)

    monkeypatch.setattr(unmade_rows, "embed_documents", wait)
    writer = threading.Thread(target=graph.load, args=([essay("slow", body="x")], "append"))
    writer.start()
    try:
        assert asked.wait(20)
        graph.load([essay("quick", body="y", bodyVec=[1, 0, 0, 0])], "append")
        assert vectors(graph) == {"quick": [1, 0, 0, 0]}
    finally:
        go_on.set()
        writer.join()
    assert set(vectors(graph)) == {"quick", "slow"}


# ── bulk ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_ticket_makes_the_vectors_of_what_it_writes(held):
    with og.init(f"memory://tickets-{secrets.token_hex(6)}", schema=FILMS) as graph:
        receipt = graph.bulk(["Essay"]).write("Essay", pa.table({"title": ["a", "b"], "body": ["x", None]}))
        assert (receipt.row_count, receipt.minted) == (2, 0)
        graph.bulk_publish([receipt])
        assert vectors(graph) == {"a": mock_list("x", 4), "b": None}


@pytest.mark.parametrize(("provider", "message"), [(None, "no embedder is configured"), ("no-such", "no plugin")])
def test_a_ticket_without_an_embedder_refuses_required_vectors(monkeypatch, provider, message):
    choose_embedder(monkeypatch, provider)
    with og.init(f"memory://tickets-{secrets.token_hex(6)}", schema=FILMS) as graph:
        table = pa.table({"code": ["a"], "title": ["t"], "plot": ["p"]})
        with pytest.raises(OmnigraphError, match=message):
            graph.bulk(["Film"]).write("Film", table)
