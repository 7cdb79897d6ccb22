"""What the environment says about embedding: defaults, every variable, and a name for every wrong value."""

from __future__ import annotations

import pytest

from omnigraph.embedding import EmbedderSettings
from omnigraph.embedding.settings import Variables, is_embedder_chosen
from omnigraph.errors import InvalidInputError

KEY = "sk-hush"


def settings(**variables: str) -> EmbedderSettings:
    """Of variables without their prefix, and of one key."""
    return EmbedderSettings.from_environment(
        {f"OMNIGRAPH_{name}": value for name, value in variables.items()} | {"OPENAI_API_KEY": KEY}
    )


def test_the_defaults_are_those_of_the_specification() -> None:
    found = EmbedderSettings.from_environment({})
    assert found == EmbedderSettings()
    assert (found.provider, found.model, found.base_url) == ("openai-compatible", None, None)
    assert (found.deadline_seconds, found.timeout_seconds) == (60, 30)
    assert (found.attempts, found.backoff_seconds) == (4, 0.2)


def test_every_variable_is_heard() -> None:
    found = settings(
        EMBED_PROVIDER=" Gemini ",
        EMBED_MODEL=" acme/e-1 ",
        EMBED_BASE_URL="https://[::1]:8080/v1/",
        EMBED_DEADLINE_MS="1500",
        EMBED_TIMEOUT_MS="1",
        EMBED_RETRY_ATTEMPTS="1",
        EMBED_RETRY_BACKOFF_MS="0",
    )
    assert (found.provider, found.model, found.base_url) == ("gemini", "acme/e-1", "https://[::1]:8080/v1")
    assert (found.deadline_seconds, found.timeout_seconds) == (1.5, 0.001)
    assert (found.attempts, found.backoff_seconds) == (1, 0)


def test_an_empty_variable_is_as_one_that_is_not_set() -> None:
    names = ("PROVIDER", "MODEL", "BASE_URL", "DEADLINE_MS", "TIMEOUT_MS", "RETRY_ATTEMPTS", "RETRY_BACKOFF_MS")
    given = {f"OMNIGRAPH_EMBED_{name}": " " for name in names} | {"OMNIGRAPH_EMBEDDINGS_MOCK": ""}
    found = EmbedderSettings.from_environment(given)
    assert found == EmbedderSettings(variables=Variables(dict.fromkeys(given, "")))


def test_without_a_mapping_the_environment_of_the_process_is_read_at_that_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "one")
    assert EmbedderSettings.from_environment().model == "one"
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "two")
    assert EmbedderSettings.from_environment().model == "two"


@pytest.mark.parametrize(("word", "provider"), [(word, "mock") for word in ("1", "true", "YES", "on")])
def test_a_true_word_forces_the_mock_whatever_is_configured(word: str, provider: str) -> None:
    assert settings(EMBED_PROVIDER="openai", EMBEDDINGS_MOCK=word).provider == provider


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_a_false_word_leaves_the_configured_embedder(word: str) -> None:
    assert settings(EMBED_PROVIDER="openai", EMBEDDINGS_MOCK=word).provider == "openai"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMBEDDINGS_MOCK", "maybe"),
        *((f"EMBED_{name}_MS", value) for name in ("DEADLINE", "TIMEOUT") for value in ("0", "-1", "1.5", "2s", "1e3")),
        ("EMBED_RETRY_BACKOFF_MS", "-1"),
        ("EMBED_DEADLINE_MS", "86400001"),
        ("EMBED_DEADLINE_MS", "9" * 5000),
        ("EMBED_TIMEOUT_MS", "٣٠"),
        ("EMBED_RETRY_ATTEMPTS", "0"),
        ("EMBED_RETRY_ATTEMPTS", "101"),
        ("EMBED_RETRY_ATTEMPTS", "four"),
    ],
)
def test_a_wrong_value_is_refused_with_its_variable_and_what_would_be_right(name: str, value: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        settings(**{name: value})
    assert caught.value.message.startswith(f"OMNIGRAPH_{name} is ")
    assert len(caught.value.message) < 200
    assert str(caught.value.help).startswith("Set it to ")
    assert caught.value.details["variable"] == f"OMNIGRAPH_{name}"


@pytest.mark.parametrize(
    "value",
    [
        "api.openai.com/v1",
        "ftp://host/v1",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "http://host:0/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://ho st/v1",
        "http://host/v 1",
        "http://höst/v1",
        f"http://{'x' * 70}.com/",
        "http://user:hush@host/v1",
        "http://host/v1?key=hush",
        "http://host/v1#hush",
    ],
)
def test_what_is_no_bare_url_of_a_server_is_refused_and_not_said_back(value: str) -> None:
    with pytest.raises(InvalidInputError, match=r"OMNIGRAPH_EMBED_BASE_URL (is not|holds) ") as caught:
        settings(EMBED_BASE_URL=value)
    assert "hush" not in f"{caught.value!r} {caught.value} {caught.value.to_dict()}"


def test_a_key_is_given_to_who_names_its_variable_and_shown_to_nobody() -> None:
    found = settings()
    assert found.key("OPENAI_API_KEY") == KEY
    assert dict(found.variables) == {"OPENAI_API_KEY": KEY}
    assert KEY not in f"{found!r} {found} {found.variables!r}"


def test_a_key_that_is_not_set_is_named_with_the_ways_out() -> None:
    with pytest.raises(InvalidInputError, match="GEMINI_API_KEY is not set") as caught:
        settings().key("GEMINI_API_KEY")
    for variable in ("GEMINI_API_KEY", "OMNIGRAPH_EMBED_PROVIDER", "OMNIGRAPH_EMBEDDINGS_MOCK"):
        assert variable in str(caught.value.help)


@pytest.mark.parametrize(
    ("variables", "is_chosen"),
    [
        ({}, False),
        ({"OMNIGRAPH_EMBED_PROVIDER": "openai"}, True),
        ({"OMNIGRAPH_EMBED_MODEL": "acme/e-1"}, True),
        ({"OMNIGRAPH_EMBED_BASE_URL": "http://localhost:11434/v1"}, True),
        ({"OMNIGRAPH_EMBEDDINGS_MOCK": "yes"}, True),
        ({"OMNIGRAPH_EMBED_PROVIDER": " ", "OMNIGRAPH_EMBEDDINGS_MOCK": "0"}, False),
        ({"OPENROUTER_API_KEY": KEY, "OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY}, False),
        ({"OMNIGRAPH_EMBED_TIMEOUT_MS": "5"}, False),
    ],
)
def test_an_embedder_is_chosen_by_what_names_it_and_not_by_a_key(variables: dict[str, str], is_chosen: bool) -> None:
    assert is_embedder_chosen(variables) is is_chosen


def test_whether_an_embedder_is_chosen_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    assert is_embedder_chosen()
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "perhaps")
    with pytest.raises(InvalidInputError, match="OMNIGRAPH_EMBEDDINGS_MOCK"):
        is_embedder_chosen()
