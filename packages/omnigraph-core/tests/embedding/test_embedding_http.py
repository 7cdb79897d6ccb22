"""The HTTP embedders against a server process: what is sent, what is accepted, what is repeated, what is said."""

from __future__ import annotations

import logging
import ssl
import threading
import traceback
from typing import Any

import numpy as np
import pytest

from omnigraph.embedding import Purpose
from omnigraph.embedding.exchange import MAX_ANSWER_BYTES, _context
from omnigraph.embedding.openai import MAX_BATCH_CHARACTERS
from omnigraph.errors import EmbeddingError, InvalidInputError
from omnigraph.plugins import embed_texts

KEY = "sk-hush-0123456789"
KEY_VARIABLE = {
    "openai-compatible": "OPENROUTER_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
EVERY_PROVIDER = pytest.mark.parametrize("provider", KEY_VARIABLE)


def environment(provider: str, base_url: str | None, **more: str) -> dict[str, str]:
    """A working one with quick attempts; ``more`` without the prefix of the settings."""
    settings = {"RETRY_BACKOFF_MS": "1", "PROVIDER": provider} | ({"BASE_URL": base_url} if base_url else {}) | more
    return {f"OMNIGRAPH_EMBED_{name}": value for name, value in settings.items()} | {KEY_VARIABLE[provider]: KEY}


def embed(variables: dict[str, str], *texts: str, **more: Any) -> list[list[float]]:
    arguments: dict[str, Any] = {"dimension": 2, "recorded_model": None, "purpose": Purpose.DOCUMENT}
    found = embed_texts(texts or ("abc",), environment=variables, **arguments | more)
    assert all(vector.dtype == np.float32 for vector in found)
    return [vector.tolist() for vector in found]


def failure(variables: dict[str, str], *texts: str, **more: Any) -> EmbeddingError:
    """The error, after seeing that no key and no text stands anywhere in it."""
    with pytest.raises(EmbeddingError) as caught:
        embed(variables, *(texts or ("a very private text",)), **more)
    error = caught.value
    shown = f"{error!r} {error} {error.to_dict()} {''.join(traceback.format_exception(error))}"
    assert KEY not in shown
    assert "private text" not in str(error.to_dict())
    return error


def protocol(provider: str) -> str:
    return "gemini" if provider == "gemini" else "openai"


def vectors(provider: str, *values: Any) -> dict[str, Any]:
    """An answer with these vectors, as this provider gives them."""
    if provider == "gemini":
        return {"json": {"embedding": {"values": values[0]}}}
    return {"json": {"data": [{"index": index, "embedding": each} for index, each in enumerate(values)]}}


# ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai-compatible", "openai/text-embedding-3-large"), ("openai", "text-embedding-3-large")],
)
@pytest.mark.parametrize("purpose", Purpose)
def test_a_request_to_openai_is_exactly_as_specified(
    stand_in: Any, provider: str, model: str, purpose: Purpose
) -> None:
    stand_in.answers({"embed": "openai"})
    embed(environment(provider, stand_in.base_url), "größe \N{SNOWMAN}", dimension=3, purpose=purpose)
    (request,) = stand_in.seen()
    assert (request["method"], request["path"]) == ("POST", f"/{stand_in.name}/v1/embeddings")
    assert request["body"] == {"model": model, "input": ["größe \N{SNOWMAN}"], "dimensions": 3}
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert request["headers"]["content-type"] == "application/json"


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize("model", [None, "models/gemini-embedding-2"])
def test_a_request_to_gemini_is_exactly_as_specified(stand_in: Any, purpose: Purpose, model: str | None) -> None:
    stand_in.answers({"embed": "gemini"})
    variables = environment("gemini", stand_in.base_url) | ({"OMNIGRAPH_EMBED_MODEL": model} if model else {})
    embed(variables, "größe", dimension=3, purpose=purpose)
    (request,) = stand_in.seen()
    assert request["path"] == f"/{stand_in.name}/v1/models/gemini-embedding-2:embedContent"
    assert request["body"] == {
        "model": "models/gemini-embedding-2",
        "content": {"parts": [{"text": "größe"}]},
        "taskType": {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}[purpose],
        "outputDimensionality": 3,
    }
    assert request["headers"]["x-goog-api-key"] == KEY
    assert "authorization" not in request["headers"]


@EVERY_PROVIDER
def test_the_configured_model_is_asked_for_and_a_slash_behind_the_base_url_is_no_matter(
    stand_in: Any, provider: str
) -> None:
    stand_in.answers({"embed": protocol(provider)})
    embed(environment(provider, stand_in.base_url + "/", MODEL="acme/embed-1"), recorded_model="acme/embed-1")
    (request,) = stand_in.seen()
    assert "//" not in request["path"]
    assert request["body"]["model"].removeprefix("models/") == "acme/embed-1"


def test_many_texts_go_out_in_batches_and_come_back_in_their_order(stand_in: Any) -> None:
    stand_in.answers({"embed": "openai"}, {"embed": "openai"})
    texts = ["x" * (1 + number * 7 % 65) for number in range(65)]
    found = embed(environment("openai", stand_in.base_url), *texts)
    assert [len(request["body"]["input"]) for request in stand_in.seen()] == [64, 1]
    assert [round(first / second) for first, second in found] == [len(text) for text in texts]


def test_a_batch_is_bounded_by_the_length_of_its_texts_and_one_long_text_goes_alone(stand_in: Any) -> None:
    stand_in.answers(*[{"embed": "openai"}] * 3)
    half = "x" * (MAX_BATCH_CHARACTERS // 2)
    embed(environment("openai", stand_in.base_url), half, half, half + half + "x", "y")
    assert [len(request["body"]["input"]) for request in stand_in.seen()] == [2, 1, 1]


def test_gemini_gets_one_text_in_each_request(stand_in: Any) -> None:
    stand_in.answers({"embed": "gemini"}, {"embed": "gemini"})
    found = embed(environment("gemini", stand_in.base_url), "xx", "xxxxx")
    assert [round(first / second) for first, second in found] == [2, 5]


def test_the_proxy_of_the_environment_is_used(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in.answers({"embed": "openai"})
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{stand_in.port}")
    embed(environment("openai", f"http://embedder.invalid/{stand_in.name}/v1"))
    (request,) = stand_in.seen()
    assert request["headers"]["host"] == "embedder.invalid"


# ── what is accepted ─────────────────────────────────────────────────────────────────────────────────────────────


@EVERY_PROVIDER
def test_vectors_come_back_with_length_one(stand_in: Any, provider: str) -> None:
    stand_in.answers(vectors(provider, [3, -4]))
    assert embed(environment(provider, stand_in.base_url)) == [pytest.approx([0.6, -0.8])]


def test_an_answer_in_chunks_is_read_whole(stand_in: Any) -> None:
    stand_in.answers(vectors("openai", [3, -4]) | {"chunked": True})
    assert embed(environment("openai", stand_in.base_url)) == [pytest.approx([0.6, -0.8])]


def test_embeddings_without_indices_are_taken_in_their_order(stand_in: Any) -> None:
    stand_in.answers({"json": {"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}})
    assert embed(environment("openai", stand_in.base_url), "a", "b") == [[1, 0], [0, 1]]


@EVERY_PROVIDER
@pytest.mark.parametrize(
    ("vector", "says"),
    [
        ([1, 2, 3], "a vector of 3 numbers where 2 were asked for"),
        ([], "a vector of 0 numbers where 2 were asked for"),
        ([1.0, float("nan")], "a number that is not finite"),
        ([1.0, float("-inf")], "a number that is not finite"),
        ([0, 0.0], "a vector of zeros"),
        (["0.5", "0.5"], "something in it that is no number"),
        ([1, None], "something in it that is no number"),
        ([[1], [2, 3]], "something in it that is no number"),
        ([10**400, 1], "something in it that is no number"),
        ([True, False], "something in it that is no number"),
    ],
)
def test_a_wrong_vector_is_refused_with_what_is_wrong(stand_in: Any, provider: str, vector: Any, says: str) -> None:
    stand_in.answers(vectors(provider, vector))
    error = failure(environment(provider, stand_in.base_url))
    assert says in error.message
    assert f'"{provider}"' in error.message
    assert error.provider == provider
    assert len(stand_in.seen()) == 1, "an answer that is wrong would be wrong again"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"data": [{"index": 0, "embedding": [1, 0]}]}, "1 embeddings for 2 texts"),
        ({"data": [{"index": each, "embedding": [1, 0]} for each in range(3)]}, "3 embeddings for 2 texts"),
        ({"data": [{"index": 1, "embedding": [1, 0]}] * 2}, "indices"),
        ({"data": [{"index": each, "embedding": [1, 0]} for each in (0, 2)]}, "indices"),
        ({"data": {"index": 0}}, "no list of embeddings"),
        ({"data": [{"index": 0}, {"index": 1}]}, "no list of embeddings"),
        ({"data": [{"index": [], "embedding": [1, 0]}] * 2}, "no list of embeddings"),
        ({"data": [1, 2]}, "no list of embeddings"),
        ({"vectors": []}, "no list of embeddings"),
        ([], "no list of embeddings"),
        (None, "no list of embeddings"),
    ],
)
def test_an_answer_of_openai_without_the_vectors_is_refused(stand_in: Any, answer: Any, says: str) -> None:
    stand_in.answers({"json": answer})
    error = failure(environment("openai", stand_in.base_url), "a", "b")
    assert says in error.message
    assert error.status == 200


@pytest.mark.parametrize("answer", [{}, {"embedding": [1, 0]}, {"embedding": {"values": 7}}, [], None])
def test_an_answer_of_gemini_without_the_vector_is_refused(stand_in: Any, answer: Any) -> None:
    stand_in.answers({"json": answer})
    assert "no embedding in its answer" in failure(environment("gemini", stand_in.base_url)).message


@EVERY_PROVIDER
@pytest.mark.parametrize("text", ["<html>Welcome to the Wi-Fi</html>", "", '{"data": [', "[" * 100_000, "9" * 5_000])
def test_an_answer_that_is_no_json_is_refused(stand_in: Any, provider: str, text: str) -> None:
    stand_in.answers({"text": text})
    error = failure(environment(provider, stand_in.base_url))
    assert "gave no vectors" in error.message
    assert "OMNIGRAPH_EMBED_BASE_URL" in str(error.help)
    assert len(stand_in.seen()) == 1


@pytest.mark.parametrize(
    "answer",
    [{"zeros": MAX_ANSWER_BYTES + 2 * 65536}, {"text": "{}", "headers": {"Content-Length": str(MAX_ANSWER_BYTES + 1)}}],
    ids=["without a length", "with a length"],
)
def test_an_answer_beyond_the_bound_is_not_read(stand_in: Any, answer: dict[str, Any]) -> None:
    stand_in.answers(answer)
    assert "more than 32 MiB" in failure(environment("openai", stand_in.base_url)).message
    assert len(stand_in.seen()) == 1


# ── what is repeated ─────────────────────────────────────────────────────────────────────────────────────────────


@EVERY_PROVIDER
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_busy_or_broken_server_is_asked_again(stand_in: Any, provider: str, status: int) -> None:
    stand_in.answers({"status": status}, {"status": status}, {"embed": protocol(provider)})
    assert embed(environment(provider, stand_in.base_url)) == [pytest.approx([0.948683, 0.316228], abs=1e-6)]
    first, second, third = stand_in.seen()
    assert first == second == third


@EVERY_PROVIDER
def test_when_the_attempts_are_used_up_the_last_answer_is_told(stand_in: Any, provider: str) -> None:
    stand_in.answers(*[{"status": 503, "json": {"error": {"message": "model is\n loading"}}}] * 5)
    error = failure(environment(provider, stand_in.base_url, RETRY_ATTEMPTS="3"))
    assert 'answered 503: "model is loading" (attempt 3 of 3)' in error.message
    assert dict(error.details) == {"provider": provider, "model": error.model, "status": 503}
    assert len(stand_in.seen()) == 3


def test_four_attempts_are_made_unless_said_otherwise_and_the_wait_doubles(stand_in: Any, waits: list[float]) -> None:
    stand_in.answers(*[{"status": 500}] * 5)
    variables = environment("openai", stand_in.base_url)
    del variables["OMNIGRAPH_EMBED_RETRY_BACKOFF_MS"]
    assert failure(variables).status == 500
    assert len(stand_in.seen()) == 4
    assert waits == [0.2, 0.4, 0.8]


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_says_when_to_come_back_is_left_alone_until_then(
    stand_in: Any, waits: list[float], status: int
) -> None:
    busy = [{"status": status, "headers": {"Retry-After": each}} for each in ("7", "0", "soon")]
    stand_in.answers(*busy, {"embed": "openai"})
    embed(environment("openai", stand_in.base_url, RETRY_BACKOFF_MS="100"))
    assert waits == [7.0, 0.2, 0.4]


def test_a_date_to_come_back_at_is_understood(stand_in: Any, waits: list[float]) -> None:
    dates = ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00")
    stand_in.answers(*({"status": 429, "headers": {"Retry-After": each}} for each in dates), {"embed": "openai"})
    embed(environment("openai", stand_in.base_url, RETRY_BACKOFF_MS="100"))
    assert waits == [0.1, 0.2], "that is long ago"


@pytest.mark.parametrize("when", ["3600", "9" * 400, "Fri, 31 Dec 2999 23:59:59 GMT"])
def test_a_server_that_wants_more_time_than_there_is_is_not_waited_for(
    stand_in: Any, waits: list[float], when: str
) -> None:
    stand_in.answers({"status": 429, "headers": {"Retry-After": when}})
    error = failure(environment("openai", stand_in.base_url))
    assert error.status == 429
    assert error.__notes__ == ["The deadline would have been over before the next attempt."]
    assert waits == []
    assert len(stand_in.seen()) == 1


def test_the_deadline_holds_for_all_attempts_together(stand_in: Any) -> None:
    stand_in.answers(*[{"status": 500}] * 99)
    patient = {"RETRY_ATTEMPTS": "99", "RETRY_BACKOFF_MS": "600"}
    assert failure(environment("openai", stand_in.base_url, DEADLINE_MS="1000", **patient)).status == 500
    assert 1 <= len(stand_in.seen()) <= 2


def test_a_caller_who_has_less_time_than_the_settings_is_heard(stand_in: Any) -> None:
    stand_in.answers(*[{"hang": True}] * 9)
    error = failure(environment("openai", stand_in.base_url), within_seconds=0.1)
    assert "did not answer in time (attempt 1 of 4)" in error.message
    assert (
        "was over before it could be asked"
        in failure(environment("openai", stand_in.base_url), within_seconds=0).message
    )
    assert len(stand_in.seen()) <= 1


@pytest.mark.parametrize(
    "answer",
    [{"hang": True}, {"drip": "body"}, {"drip": "head"}],
    ids=["silent", "body byte by byte", "head byte by byte"],
)
def test_an_attempt_that_takes_too_long_is_given_up_and_repeated(stand_in: Any, answer: dict[str, Any]) -> None:
    stand_in.answers(answer, *[{"embed": "openai"}] * 3)
    variables = environment("openai", stand_in.base_url, TIMEOUT_MS="700")
    assert embed(variables) == [pytest.approx([0.948683, 0.316228], abs=1e-6)]
    stand_in.answers(answer, answer)
    error = failure(environment("openai", stand_in.base_url, TIMEOUT_MS="50", RETRY_ATTEMPTS="2"))
    assert "did not answer in time (attempt 2 of 2)" in error.message
    assert error.status is None
    assert "OMNIGRAPH_EMBED_TIMEOUT_MS" in str(error.help)
    assert isinstance(error.__cause__, TimeoutError)


def test_a_look_up_of_a_name_that_does_not_end_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def look_up(*_: Any, **__: Any) -> None:
        over.wait(60)
        raise OSError("nobody knows")

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    try:
        error = failure(environment("openai", "http://embedder.invalid/v1", TIMEOUT_MS="50", RETRY_ATTEMPTS="2"))
    finally:
        over.set()
    assert "did not answer in time (attempt 2 of 2)" in error.message


@pytest.mark.parametrize(
    "broken",
    [{"cut": 9}, {"cut": 9, "chunked": True}, {"cut": 0}, {"garbage": True}],
    ids=["behind some bytes", "within a chunk", "before the body", "no HTTP"],
)
def test_an_answer_that_is_cut_off_or_garbled_is_asked_for_again(stand_in: Any, broken: dict[str, Any]) -> None:
    half = vectors("openai", [3, -4]) | broken
    stand_in.answers(half, vectors("openai", [3, -4]), *[half] * 4)
    assert embed(environment("openai", stand_in.base_url)) == [pytest.approx([0.6, -0.8])]
    error = failure(environment("openai", stand_in.base_url))
    assert "could not be reached: the answer is cut off" in error.message
    assert "attempt 4 of 4" in error.message
    assert len(stand_in.seen()) == 6


def test_a_server_process_that_dies_in_the_middle_of_an_answer_is_told_of(mortal_stand_in: Any) -> None:
    mortal_stand_in.answers(vectors("openai", [3, -4]) | {"cut": 9, "exit": True})
    error = failure(environment("openai", mortal_stand_in.base_url, RETRY_ATTEMPTS="2"))
    assert "could not be reached" in error.message
    assert "attempt 2 of 2" in error.message
    assert isinstance(error.__cause__, ConnectionError)


@EVERY_PROVIDER
def test_a_server_that_is_not_there_is_told_of_with_its_place(refused_port: int, provider: str) -> None:
    place = f"http://127.0.0.1:{refused_port}/v1"
    error = failure(environment(provider, place))
    assert place in error.message
    assert "could not be reached" in error.message
    assert "attempt 4 of 4" in error.message
    assert isinstance(error.__cause__, ConnectionRefusedError)


# ── what is not repeated ─────────────────────────────────────────────────────────────────────────────────────────


@EVERY_PROVIDER
@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_names_its_variable_and_never_the_key(
    stand_in: Any, provider: str, status: int
) -> None:
    stand_in.answers({"status": status, "json": {"error": {"message": f"Incorrect API key: {KEY}"}}})
    error = failure(environment(provider, stand_in.base_url))
    assert f"answered {status}: it does not accept the key in {KEY_VARIABLE[provider]}" in error.message
    assert KEY_VARIABLE[provider] in str(error.help)
    assert error.status == status
    assert len(stand_in.seen()) == 1


@EVERY_PROVIDER
@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (400, {"error": {"message": f"bad dimensions for {KEY}"}}, 'answered 400: "bad dimensions for (secret)"'),
        (400, [{"error": {"message": "bad"}}], 'answered 400: "bad"'),
        (404, {"error": "no such model"}, 'answered 404: "no such model"'),
        (404, {"error": {"message": "x" * 1000}}, f'answered 404: "{"x" * 300}"'),
        (413, {"detail": "?"}, "answered 413."),
        (422, [], "answered 422."),
        (204, None, "answered 204."),
    ],
)
def test_a_refusal_is_told_with_its_reason_and_not_repeated(
    stand_in: Any, provider: str, status: int, body: Any, says: str
) -> None:
    stand_in.answers({"status": status} | ({"text": ""} if body is None else {"json": body}))
    error = failure(environment(provider, stand_in.base_url))
    assert says in error.message
    assert error.status == status
    assert "OMNIGRAPH_EMBED_MODEL" in str(error.help)
    assert len(stand_in.seen()) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_because_the_key_would_go_with_it(stand_in: Any, status: int) -> None:
    elsewhere = f"http://127.0.0.1:{stand_in.port}/{stand_in.name}/elsewhere"
    stand_in.answers({"status": status, "headers": {"Location": elsewhere}}, {"embed": "openai"})
    error = failure(environment("openai", stand_in.base_url))
    assert f"answered {status}" in error.message
    assert "redirect" in str(error.help)
    assert len(stand_in.seen()) == 1


def test_certificates_and_their_names_are_checked() -> None:
    assert _context().verify_mode is ssl.CERT_REQUIRED
    assert _context().check_hostname


def test_a_server_that_cannot_be_trusted_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(url: str, **_: Any) -> None:
        asked.append(url)
        error = ssl.SSLCertVerificationError(1, "certificate verify failed")
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr("omnigraph.embedding.endpoint.exchange", refuse)
    error = failure(environment("openai", None))
    assert asked == ["https://api.openai.com/v1/embeddings"]
    assert "could not be trusted: self-signed certificate" in error.message


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("openai-compatible", "https://openrouter.ai/api/v1/embeddings"),
        ("openai", "https://api.openai.com/v1/embeddings"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-2:embedContent",
        ),
    ],
)
def test_without_a_base_url_the_published_server_is_asked(
    monkeypatch: pytest.MonkeyPatch, provider: str, url: str
) -> None:
    asked = []

    def refuse(url: str, **_: Any) -> None:
        asked.append(url)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr("omnigraph.embedding.endpoint.exchange", refuse)
    failure(environment(provider, None, RETRY_ATTEMPTS="1"))
    assert asked == [url]


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@EVERY_PROVIDER
@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_its_variable_is_named_and_nobody_is_asked(stand_in: Any, provider: str, key: str | None) -> None:
    stand_in.answers({"embed": protocol(provider)})
    variables = environment(provider, stand_in.base_url)
    del variables[KEY_VARIABLE[provider]]
    with pytest.raises(InvalidInputError, match=f"{KEY_VARIABLE[provider]} is not set") as caught:
        embed(variables | ({} if key is None else {KEY_VARIABLE[provider]: key}))
    assert caught.value.details["variable"] == KEY_VARIABLE[provider]
    assert stand_in.seen() == []


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Evil: 1", f"Bearer {KEY}", f"{KEY}é"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(stand_in: Any, key: str) -> None:
    variables = environment("openai", stand_in.base_url) | {"OPENAI_API_KEY": key}
    with pytest.raises(InvalidInputError, match="OPENAI_API_KEY holds spaces or characters") as caught:
        embed(variables)
    assert KEY not in f"{caught.value!r} {caught.value} {caught.value.to_dict()}"
    assert stand_in.seen() == []


def test_the_log_tells_of_attempts_and_has_neither_key_nor_text(
    stand_in: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.answers({"status": 500}, {"embed": "openai"})
    with caplog.at_level(logging.DEBUG):
        embed(environment("openai", stand_in.base_url), "a very private text")
    assert "attempt 1" in caplog.text
    assert KEY not in caplog.text
    assert "private text" not in caplog.text
