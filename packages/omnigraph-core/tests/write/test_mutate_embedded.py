"""Required vectors that an insert leaves out are made from their texts, once, before anything else happens."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from embedding_world import choose_embedder

import omnigraph as og
from omnigraph.embedding.mock import mock_vector
from omnigraph.errors import EmbeddingError, InvalidInputError
from omnigraph.write import embedding

SCHEMA = """
node Film {
    code: String @key
    plot: String?
    stars: I32?
    vec: Vector(4) @embed(plot)
    spare: Vector(4)? @embed(plot)
}
"""
ADD = (
    "query add($code: String, $plot: String?, $stars: I64?) { insert Film { code: $code, plot: $plot, stars: $stars } }"
)


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://embed-{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        yield graph


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of each request to the embedder."""
    choose_embedder(monkeypatch, "mock")
    requests: list[list[str]] = []
    real = embedding.embed_texts

    def embed(texts, **options):
        requests.append(list(texts))
        return real(texts, **options)

    monkeypatch.setattr(embedding, "embed_texts", embed)
    return requests


def films(graph: og.Graph) -> dict[str, dict]:
    return {row["code"]: row for row in graph.table("Film").rows()}


def test_a_required_vector_is_made_and_a_nullable_one_stays_null(graph: og.Graph, asked):
    graph.mutate(ADD, params={"code": "a", "plot": "the sea", "stars": 3})
    found = films(graph)["a"]
    assert found["vec"] == pytest.approx(list(mock_vector("the sea", 4)), abs=1e-6)
    assert found["spare"] is None
    assert asked == [["the sea"]]


def test_many_inserts_ask_once_and_for_each_text_once(graph: og.Graph, asked):
    body = " ".join(
        f'insert Film {{ code: "{name}", plot: "{plot}" }}' for name, plot in zip("abc", "xyx", strict=True)
    )
    assert graph.mutate(f"query all() {{ {body} }}").affected_nodes == 3
    assert asked == [["x", "y"]]
    assert films(graph)["a"]["vec"] == films(graph)["c"]["vec"]


def test_a_vector_that_is_given_is_taken(graph: og.Graph, asked):
    graph.mutate('query one() { insert Film { code: "a", plot: "p", vec: [1, 0, 0, 0] } }')
    assert films(graph)["a"]["vec"] == [1.0, 0.0, 0.0, 0.0]
    assert asked == []


def test_nobody_is_asked_when_a_value_is_wrong(graph: og.Graph, asked):
    body = 'insert Film { code: "a", plot: "p" } insert Film { code: "b", plot: "p", stars: $n, vec: [1, 0, 0, 0] }'
    with pytest.raises(InvalidInputError, match=r"statement 2: Film\.stars expects I32"):
        graph.mutate(f"query two($n: I64) {{ {body} }}", params={"n": 2**40})
    assert asked == []
    assert films(graph) == {}


def test_a_source_that_is_null_is_told_with_its_statement(graph: og.Graph, asked):
    with pytest.raises(InvalidInputError, match=r"statement 1: Film\.vec is made from 'plot', which is null"):
        graph.mutate(ADD, params={"code": "a"})
    assert asked == []


def test_without_an_embedder_the_error_names_the_property_and_the_setting(graph: og.Graph, monkeypatch):
    choose_embedder(monkeypatch, None)
    with pytest.raises(InvalidInputError, match=r"'vec' of Film.*OMNIGRAPH_EMBED_PROVIDER"):
        graph.mutate(ADD, params={"code": "a", "plot": "p"})
    assert len(graph.commits.list()) == 1


def test_an_embedder_that_fails_leaves_nothing_behind(graph: og.Graph, asked, monkeypatch):
    def fail(texts, **options):
        raise EmbeddingError("The model is gone.", provider="mock", help="Try again.")

    monkeypatch.setattr(embedding, "embed_texts", fail)
    with pytest.raises(EmbeddingError):
        graph.mutate(ADD, params={"code": "a", "plot": "p"})
    assert films(graph) == {}
