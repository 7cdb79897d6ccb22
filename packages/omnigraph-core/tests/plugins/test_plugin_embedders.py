"""From texts to vectors through the embedder that is configured, or to the error that says what to set or repair."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from omnigraph.config import Settings
from omnigraph.embedding import Embedder, EmbedderProvider, EmbedderSettings, Purpose
from omnigraph.errors import EmbeddingError, InvalidInputError, OmnigraphError
from omnigraph.plugins import (
    Candidate,
    LoadedPlugins,
    PluginInfo,
    PluginStatus,
    embed_texts,
    find_embedder,
    hookimpl,
    load_plugins,
)
from omnigraph.storage import StorageBackend


class Counting(Embedder):
    """Embeds a text as (its length, 1), and says what was asked of it; class attributes make it misbehave."""

    made: ClassVar[list[EmbedderSettings]] = []
    asked: ClassVar[list[tuple[list[str], int, Purpose, float | None]]] = []
    fault: BaseException | None = None
    answer: Any = None

    def __init__(self, settings: EmbedderSettings) -> None:
        self.made.append(settings)
        self.model = settings.model or "counting-1"

    def embed(
        self, texts: Sequence[str], *, dimension: int, purpose: Purpose, within_seconds: float | None
    ) -> list[tuple[float, ...]]:
        self.asked.append((list(texts), dimension, purpose, within_seconds))
        if self.fault is not None:
            raise self.fault
        return self.answer or [(float(len(text)), 1.0) for text in texts]


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    """``Counting`` as ``acme_counting:Counting``, with nothing asked yet."""
    home = types.ModuleType("acme_counting")
    home.Counting = Counting  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme_counting", home)
    monkeypatch.setattr(Counting, "made", [])
    monkeypatch.setattr(Counting, "asked", [])
    return Counting


def offering(*records: Any) -> types.ModuleType:
    @hookimpl
    def omnigraph_embedders() -> Iterator[Any]:
        yield from records

    home = types.ModuleType("acme_plugin")
    home.omnigraph_embedders = omnigraph_embedders  # type: ignore[attr-defined]
    return home


def record(name: str = "acme", **facts: Any) -> EmbedderProvider:
    return EmbedderProvider(**{"name": name, "factory": "acme_counting:Counting", "spi_version": 1} | facts)


def candidate(name: str, *records: Any, distribution: str | None = None, error: Exception | None = None) -> Candidate:
    home = offering(*(records or (record(name),)))

    def load() -> types.ModuleType:
        if error is not None:
            raise error
        return home

    return Candidate(name=name, distribution=distribution or f"omnigraph-embed-{name}", version="1.2", load=load)


def load(*candidates: Candidate, disabled: str = "") -> LoadedPlugins:
    return load_plugins(candidates, settings=Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": disabled}))


def info(plugins: LoadedPlugins, name: str) -> PluginInfo:
    (found,) = [each for each in plugins.infos if each.name == name]
    return found


def embed(*texts: str, plugins: LoadedPlugins | None = None, **more: Any) -> list[list[float]]:
    arguments: dict[str, Any] = {
        "dimension": 2,
        "recorded_model": None,
        "purpose": Purpose.DOCUMENT,
        "environment": {"OMNIGRAPH_EMBED_PROVIDER": "acme"},
    }
    return [each.tolist() for each in embed_texts(texts, plugins=plugins, **arguments | more)]


# ── what a plugin offers ─────────────────────────────────────────────────────────────────────────────────────────


def test_core_brings_four_embedders_through_the_same_hook() -> None:
    (only,) = load().infos
    assert [each.name for each in only.embedders] == ["openai-compatible", "openai", "gemini", "mock"]


def test_a_plugin_may_offer_embedders_and_backends_together() -> None:
    @hookimpl
    def omnigraph_storage_backends() -> Iterator[StorageBackend]:
        yield StorageBackend(name="acme", schemes=("acme",), adapter="a:B", lance_scheme="memory", spi_version=1)

    home = offering(record("one"), record("two"))
    home.omnigraph_storage_backends = omnigraph_storage_backends  # type: ignore[attr-defined]
    plugins = load(Candidate(name="acme", distribution="acme", version="1", load=lambda: home))
    found = info(plugins, "acme")
    assert found.status is PluginStatus.LOADED
    assert [each.name for each in found.backends] == ["acme"]
    assert [each.name for each in found.embedders] == ["one", "two"]
    assert [(who.name, what.name) for who, what in plugins.embedders()][-2:] == [("acme", "one"), ("acme", "two")]


@pytest.mark.parametrize("stranger", [None, "acme", EmbedderProvider, Counting])
def test_a_hook_that_yields_something_else_than_a_record_is_refused(stranger: object) -> None:
    verdict = info(load(candidate("acme", record(), stranger), candidate("good")), "acme")
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == (
        f"TypeError: omnigraph_embedders yielded a {type(stranger).__name__}, not an EmbedderProvider"
    )
    assert verdict.embedders == ()


def test_an_embedder_for_another_version_of_the_interface_is_refused_by_name() -> None:
    verdict = info(load(candidate("acme", record(spi_version=7))), "acme")
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == (
        'Its embedder "acme" was written for embedding interface 7; this omnigraph-core has 1. '
        "Upgrade omnigraph-embed-acme or omnigraph-core."
    )


def test_a_plugin_that_claims_one_name_twice_is_refused() -> None:
    verdict = info(load(candidate("acme", record(), record(factory="other:Other"))), "acme")
    assert verdict.status is PluginStatus.FAILED
    assert 'the embedder name "acme" is claimed twice' in str(verdict.reason)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"name": "Acme"}, "lower-case"),
        ({"name": ""}, "lower-case"),
        ({"name": "a b"}, "lower-case"),
        ({"factory": "acme"}, "module:attribute"),
        ({"factory": "acme:"}, "module:attribute"),
        ({"factory": "acme:a.b"}, "module:attribute"),
    ],
)
def test_a_record_that_is_declared_wrongly_is_refused_with_the_reason(facts: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        record(**facts)


def test_a_record_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(record())) == record()


# ── which one is used ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_configured_embedder_is_asked_and_its_vectors_get_length_one(counting: type[Counting]) -> None:
    plugins = load(candidate("other"), candidate("acme"))
    assert embed("abc", "x", plugins=plugins, within_seconds=9.5) == [
        pytest.approx([0.948683, 0.316228], abs=1e-6),
        pytest.approx([0.707107, 0.707107], abs=1e-6),
    ]
    assert counting.asked == [(["abc", "x"], 2, Purpose.DOCUMENT, 9.5)]


def test_listing_and_finding_an_embedder_does_not_import_it() -> None:
    plugins = load(candidate("acme", record(factory="acme_never_there:Embedder")))
    assert find_embedder("acme", plugins)[1].factory == "acme_never_there:Embedder"
    assert "acme_never_there" not in sys.modules


def test_an_embedder_is_told_the_settings_and_every_variable(counting: type[Counting]) -> None:
    embed(
        "a",
        plugins=load(candidate("acme")),
        environment={
            "OMNIGRAPH_EMBED_PROVIDER": "acme",
            "OMNIGRAPH_EMBED_MODEL": "m",
            "OMNIGRAPH_EMBED_DEADLINE_MS": "500",
            "ACME_TOKEN": "hush",
        },
    )
    (given,) = counting.made
    assert (given.provider, given.model, given.deadline_seconds) == ("acme", "m", 0.5)
    assert given.key("ACME_TOKEN") == "hush"


def test_an_embedder_is_made_once_and_anew_when_a_variable_changes(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    variables = {"OMNIGRAPH_EMBED_PROVIDER": "acme", "ACME_TOKEN": "one"}
    for token in ("one", "one", "two", "two", "one"):
        embed("a", plugins=plugins, environment=variables | {"ACME_TOKEN": token})
    assert [each.key("ACME_TOKEN") for each in counting.made] == ["one", "two", "one"]


def test_threads_share_one_embedder(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    threads = [threading.Thread(target=embed, args=("a",), kwargs={"plugins": plugins}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counting.made) == 1
    assert len(counting.asked) == 8


FORK = """
import os, signal
from omnigraph.embedding import Purpose
from omnigraph.plugins import embed_texts, embedders

def embed():
    mock = {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
    return embed_texts(["a"], dimension=2, recorded_model=None, purpose=Purpose.QUERY, environment=mock)

embed()
with embedders._workshop._lock, embedders._query_vectors._lock:
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        embed()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_that_was_forked_while_another_thread_made_an_embedder_makes_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"


def test_the_environment_of_the_process_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "no-such")
    with pytest.raises(InvalidInputError, match='names the embedder "no-such"'):
        embed("alpha", environment=None)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "yes")
    assert embed("alpha", environment=None, dimension=4) == [
        pytest.approx([-0.542049, -0.471799, 0.160905, 0.676534], abs=5e-7)
    ]


def test_no_texts_ask_nobody_and_need_no_key() -> None:
    assert embed(environment={}) == []


def test_a_text_that_is_no_text_is_refused_before_anybody_is_asked(counting: type[Counting]) -> None:
    with pytest.raises(InvalidInputError, match="surrogate"):
        embed("good", "bad \ud800", plugins=load(candidate("acme")))
    assert counting.asked == []


# ── the recorded model ───────────────────────────────────────────────────────────────────────────────────────────


def test_another_model_than_the_recorded_one_is_refused_with_both_names(counting: type[Counting]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        embed("a", plugins=load(candidate("acme")), recorded_model="demo/embed")
    assert '"demo/embed"' in caught.value.message
    assert '"counting-1"' in caught.value.message
    assert "OMNIGRAPH_EMBED_MODEL=demo/embed" in str(caught.value.help)
    assert dict(caught.value.details) == {
        "recorded_model": "demo/embed",
        "model": "counting-1",
        "provider": "acme",
    }
    assert counting.asked == []


def test_the_recorded_model_and_no_recorded_model_are_accepted(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    embed("a", plugins=plugins, recorded_model="counting-1")
    embed("a", plugins=plugins, recorded_model=None)
    assert len(counting.asked) == 2


@pytest.mark.parametrize("variables", [{"OMNIGRAPH_EMBED_PROVIDER": "mock"}, {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}])
def test_the_mock_stands_for_any_recorded_model_unless_one_is_configured(variables: dict[str, str]) -> None:
    assert len(embed("a", recorded_model="demo/embed", environment=variables)) == 1
    configured = variables | {"OMNIGRAPH_EMBED_MODEL": "demo/other"}
    with pytest.raises(InvalidInputError, match=r'"demo/embed".*"demo/other"'):
        embed("a", recorded_model="demo/embed", environment=configured)


# ── what is remembered ───────────────────────────────────────────────────────────────────────────────────────────


def query(*texts: str, plugins: LoadedPlugins, **more: Any) -> list[list[float]]:
    return embed(*texts, plugins=plugins, purpose=Purpose.QUERY, **more)


def test_a_repeated_query_asks_nobody_again(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    first = query("repeated", plugins=plugins)
    assert query("repeated", plugins=plugins) == first
    assert [texts for texts, *_ in counting.asked] == [["repeated"]]


def test_of_several_queries_only_the_new_ones_are_asked_for(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    one, two = query("several 1", "several 22", plugins=plugins)
    assert query("several 333", "several 1", "several 22", plugins=plugins)[1:] == [one, two]
    assert [texts for texts, *_ in counting.asked] == [["several 1", "several 22"], ["several 333"]]


def test_documents_are_not_remembered_and_not_taken_for_queries(counting: type[Counting]) -> None:
    plugins = load(candidate("acme"))
    for purpose in (Purpose.DOCUMENT, Purpose.DOCUMENT, Purpose.QUERY):
        embed("document", plugins=plugins, purpose=purpose)
    assert len(counting.asked) == 3


def test_another_model_server_or_plugin_has_vectors_of_its_own(counting: type[Counting]) -> None:
    plain = {"OMNIGRAPH_EMBED_PROVIDER": "acme"}
    plugins = load(candidate("acme"))
    query("own", plugins=plugins, environment=plain)
    query("own", plugins=plugins, environment=plain | {"OMNIGRAPH_EMBED_MODEL": "m-2"})
    query("own", plugins=plugins, environment=plain | {"OMNIGRAPH_EMBED_BASE_URL": "http://other"})
    query("own", plugins=load(candidate("acme", distribution="rival")), environment=plain)
    assert len(counting.asked) == 4


def test_another_dimension_has_vectors_of_its_own() -> None:
    mock = {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
    found = [query("own dimension", plugins=load(), dimension=size, environment=mock)[0] for size in (2, 3)]
    assert [len(each) for each in found] == [2, 3]


def test_a_failed_query_is_not_remembered(counting: type[Counting], monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = load(candidate("acme"))
    monkeypatch.setattr(counting, "answer", [(0.0, 0.0)])
    with pytest.raises(EmbeddingError, match="zeros"):
        query("failed", plugins=plugins)
    monkeypatch.setattr(counting, "answer", None)
    assert len(query("failed", plugins=plugins)) == 1


def test_what_is_remembered_cannot_be_changed_by_who_got_it(counting: type[Counting]) -> None:
    arguments: dict[str, Any] = {
        "dimension": 2,
        "recorded_model": None,
        "purpose": Purpose.QUERY,
        "environment": {"OMNIGRAPH_EMBED_PROVIDER": "acme"},
        "plugins": load(candidate("acme")),
    }
    (found,) = embed_texts(["unchanged"], **arguments)
    with pytest.raises(ValueError, match="read-only"):
        np.negative(found, out=found)


# ── no embedder, a broken one, too many ──────────────────────────────────────────────────────────────────────────


def test_an_unknown_embedder_names_its_variable_and_those_that_are_there() -> None:
    with pytest.raises(InvalidInputError) as caught:
        find_embedder("opneai", load(candidate("acme")))
    assert str(caught.value) == (
        'OMNIGRAPH_EMBED_PROVIDER names the embedder "opneai", and no plugin offers it. '
        "Did you mean openai? Installed: acme, gemini, mock, openai, openai-compatible."
    )


def test_the_embedder_of_a_disabled_plugin_says_so() -> None:
    with pytest.raises(InvalidInputError, match="OMNIGRAPH_DISABLE_PLUGINS") as caught:
        find_embedder("acme", load(candidate("acme"), disabled="acme"))
    assert "acme (omnigraph-embed-acme 1.2) is disabled" in str(caught.value)


def test_the_embedder_of_a_plugin_that_failed_to_load_names_it_with_its_cause() -> None:
    with pytest.raises(EmbeddingError) as caught:
        find_embedder("acme", load(candidate("acme", error=ImportError("libacme.so is gone"))))
    assert caught.value.message == (
        'The plugin acme (omnigraph-embed-acme 1.2) for the embedder "acme" could not be loaded: '
        "ImportError: libacme.so is gone."
    )
    assert isinstance(caught.value.__cause__, ImportError)


def test_a_name_that_two_plugins_claim_names_both_and_others_are_well() -> None:
    plugins = load(candidate("acme"), candidate("rival", record("acme")), candidate("good"))
    assert info(plugins, "acme").status is PluginStatus.CONFLICT
    assert info(plugins, "acme").reason == (
        'The embedder name "acme" is also claimed by rival (omnigraph-embed-rival 1.2).'
    )
    with pytest.raises(EmbeddingError) as caught:
        find_embedder("acme", plugins)
    for provider in ("acme (omnigraph-embed-acme 1.2)", "rival (omnigraph-embed-rival 1.2)"):
        assert provider in caught.value.message
    assert find_embedder("good", plugins)[0].name == "good"
    settled = load(candidate("acme"), candidate("rival", record("acme")), disabled="rival")
    assert find_embedder("acme", settled)[0].name == "acme"


def test_a_plugin_cannot_take_the_place_of_a_built_in_embedder_unnoticed() -> None:
    plugins = load(candidate("mine", record("openai")))
    with pytest.raises(EmbeddingError, match="Several plugins claim"):
        find_embedder("openai", plugins)
    assert find_embedder("gemini", plugins)[0].name == "memory"


def test_an_embedder_and_a_backend_may_share_a_name() -> None:
    assert {each.status for each in load(candidate("x", record("memory"))).infos} == {PluginStatus.LOADED}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import acme_no_such_sdk", "ModuleNotFoundError: No module named 'acme_no_such_sdk'"),
        ("Other = 1", "AttributeError: module 'acme_broken' has no attribute 'Embedder'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def Embedder(settings): 1 / 0", "ZeroDivisionError: division by zero"),
        ("def Embedder(settings): return 7", "TypeError: its factory made a int and not an Embedder"),
    ],
)
def test_an_embedder_that_cannot_be_made_names_its_plugin_and_is_tried_anew(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, source: str, says: str
) -> None:
    (tmp_path / "acme_broken.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    plugins = load(candidate("acme", record(factory="acme_broken:Embedder")))
    try:
        for _ in range(2):
            with pytest.raises(EmbeddingError) as caught:
                embed("a", plugins=plugins)
            assert caught.value.message == (
                f'The embedder "acme" of acme (omnigraph-embed-acme 1.2) could not be made: {says}.'
            )
            assert caught.value.provider == "acme"
    finally:
        sys.modules.pop("acme_broken", None)


@pytest.mark.parametrize("fault", [RuntimeError("out of memory"), KeyError("x"), OSError("gone")])
def test_whatever_an_embedder_raises_is_its_failure(
    counting: type[Counting], monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(counting, "fault", fault)
    with pytest.raises(EmbeddingError, match=r'"acme" of acme .* failed') as caught:
        embed("a", plugins=load(candidate("acme")))
    assert caught.value.__cause__ is fault


@pytest.mark.parametrize(
    "fault",
    [EmbeddingError("Too busy.", provider="acme", help="Wait."), InvalidInputError("No token."), KeyboardInterrupt()],
)
def test_what_an_embedder_says_itself_and_an_interrupt_pass_untouched(
    counting: type[Counting], monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    monkeypatch.setattr(counting, "fault", fault)
    with pytest.raises((OmnigraphError, KeyboardInterrupt)) as caught:
        embed("a", plugins=load(candidate("acme")))
    assert caught.value is fault


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([(1.0, 0.0)], "1 vectors for 2 texts"),
        ([(1.0, 0.0), (1.0,)], "a vector of 1 numbers where 2 were asked for"),
        ([(1.0, 0.0), (float("nan"), 1.0)], "not finite"),
        ("ab", "not a list of vectors"),
    ],
)
def test_what_a_plugin_returns_is_checked_as_what_core_does(
    counting: type[Counting], monkeypatch: pytest.MonkeyPatch, answer: Any, says: str
) -> None:
    monkeypatch.setattr(counting, "answer", answer)
    with pytest.raises(EmbeddingError, match=says) as caught:
        embed("a", "b", plugins=load(candidate("acme")))
    assert (caught.value.provider, caught.value.model) == ("acme", "counting-1")
