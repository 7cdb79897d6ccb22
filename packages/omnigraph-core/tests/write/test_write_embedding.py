"""``embed_documents``: texts of rows become vectors, in bounded requests, or an error that says what to set."""

from __future__ import annotations

import pytest
from embedding_world import PROVIDER, SCHEMA, SeenRequests, choose_embedder, mock_list

from omnigraph.embedding import Purpose
from omnigraph.errors import EmbeddingError, InvalidInputError
from omnigraph.plan.changes import Embedding
from omnigraph.write import embedding
from omnigraph.write.embedding import embed_documents, embeddings_of, optional_vectors

PLOT = Embedding("plotVec", 4, "plot", "demo/embed")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> SeenRequests:
    choose_embedder(monkeypatch, "mock")
    return SeenRequests(monkeypatch)


def test_each_text_gets_its_vector_in_order_and_is_asked_for_once(seen):
    found = embed_documents(["b", "a", "b", ""], PLOT, type_name="Film")
    assert [each.tolist() for each in found] == [mock_list(text, 4) for text in ["b", "a", "b", ""]]
    assert seen.requests == [["b", "a", ""]]
    assert seen.facts == [
        {"dimension": 4, "recorded_model": "demo/embed", "purpose": Purpose.DOCUMENT, "within_seconds": None}
    ]


def test_no_texts_ask_nobody(monkeypatch):
    choose_embedder(monkeypatch, None)
    seen = SeenRequests(monkeypatch)
    assert embed_documents([], PLOT, type_name="Film") == []
    assert seen.requests == []


def test_a_request_has_a_bounded_number_of_texts(seen):
    texts = [f"text {number}" for number in range(2 * embedding.REQUEST_TEXTS + 1)]
    found = embed_documents(texts, PLOT, type_name="Film")
    assert [len(request) for request in seen.requests] == [256, 256, 1]
    assert seen.texts == texts
    assert [each.tolist() for each in found[:2]] == [mock_list(text, 4) for text in texts[:2]]
    assert found[-1].tolist() == mock_list(texts[-1], 4)


def test_a_request_has_a_bounded_number_of_bytes_and_at_least_one_text(seen, monkeypatch):
    monkeypatch.setattr(embedding, "REQUEST_BYTES", 10)
    embed_documents(["é" * 4, "ab", "c", "d" * 20, "e"], PLOT, type_name="Film")
    assert seen.requests == [["é" * 4, "ab"], ["c"], ["d" * 20], ["e"]]


def test_all_requests_share_the_time_that_the_caller_has(seen, monkeypatch):
    monkeypatch.setattr(embedding, "REQUEST_TEXTS", 1)
    clock = iter([100.0, 101.0, 105.0, 120.0])
    monkeypatch.setattr(embedding.time, "monotonic", lambda: next(clock))
    embed_documents(["a", "b", "c"], PLOT, type_name="Film", within_seconds=10)
    assert [each["within_seconds"] for each in seen.facts] == [9.0, 5.0, 0.0]


@pytest.mark.parametrize("key", ["OPENROUTER_API_KEY", "OPENAI_API_KEY"])
def test_without_an_embedder_the_error_names_the_property_the_source_and_the_setting(monkeypatch, key):
    choose_embedder(monkeypatch, None)
    # A key may be there for another program; it sends nothing away.
    monkeypatch.setenv(key, "secret")
    seen = SeenRequests(monkeypatch)
    with pytest.raises(InvalidInputError) as caught:
        embed_documents(["a"], PLOT, type_name="Film")
    assert caught.value.message == (
        "missing required property 'plotVec' of Film; no embedder is configured to make it from 'plot': "
        "set OMNIGRAPH_EMBED_PROVIDER and its key, or give the vector"
    )
    assert caught.value.details == {"type": "node:Film", "property": "plotVec", "source": "plot"}
    assert seen.requests == []


def test_another_model_than_the_recorded_one_is_refused(monkeypatch):
    choose_embedder(monkeypatch, "mock")
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "other/embed")
    with pytest.raises(InvalidInputError, match=r'of the model "demo/embed".*configured for "other/embed"') as caught:
        embed_documents(["a"], PLOT, type_name="Film")
    assert caught.value.__notes__ == ["Film.plotVec was to be made from 'plot'. Nothing was written."]


def test_a_failure_says_which_property_it_was_for(seen):
    seen.fails_at = 1
    with pytest.raises(EmbeddingError, match="out of order") as caught:
        embed_documents(["a"], PLOT, type_name="Film")
    assert caught.value.__notes__ == ["Film.plotVec was to be made from 'plot'. Nothing was written."]


def test_a_type_knows_which_of_its_vectors_have_a_source(monkeypatch):
    film = SCHEMA.node("Film")
    assert embeddings_of(film) == (
        Embedding("face", 2, "title"),
        Embedding("need", 2, "plot", "demo/embed"),
        Embedding("plotVec", 4, "plot", "demo/embed"),
    )
    choose_embedder(monkeypatch, None)
    assert optional_vectors(film) == {}
    monkeypatch.setenv(PROVIDER, "mock")
    assert list(optional_vectors(film)) == ["face", "need", "plotVec"]
