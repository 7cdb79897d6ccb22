"""Verbs that plugins add to the command line: found by name, imported on demand, or refused by whose fault it is."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph.config import Settings
from omnigraph.errors import InvalidInputError, PluginError
from omnigraph.plugins import (
    Candidate,
    CliVerb,
    LoadedPlugins,
    PluginInfo,
    PluginStatus,
    find_verb,
    hookimpl,
    import_command,
    load_plugins,
)


def record(name: str = "acme", **facts: Any) -> CliVerb:
    given = {"name": name, "command": "acme_never_there:acme", "help": "Send it to Acme.", "spi_version": 1}
    return CliVerb(**given | facts)


def candidate(name: str, *records: Any, error: Exception | None = None) -> Candidate:
    @hookimpl
    def omnigraph_cli_verbs() -> Iterator[Any]:
        yield from records or (record(name),)

    def load() -> types.ModuleType:
        if error is not None:
            raise error
        home = types.ModuleType("acme_plugin")
        home.omnigraph_cli_verbs = omnigraph_cli_verbs  # type: ignore[attr-defined]
        return home

    return Candidate(name=name, distribution=f"omnigraph-{name}", version="1.2", load=load)


def load(*candidates: Candidate, disabled: str = "") -> LoadedPlugins:
    return load_plugins(candidates, settings=Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": disabled}))


def info(plugins: LoadedPlugins, name: str) -> PluginInfo:
    (found,) = [each for each in plugins.infos if each.name == name]
    return found


def test_a_verb_is_found_by_name_with_who_offers_it_and_not_imported() -> None:
    plugins = load(candidate("acme", record("acme"), record("zap")), candidate("other"))
    found = find_verb("zap", plugins)
    assert found is not None
    assert (found[0].provider, found[1]) == ("acme (omnigraph-acme 1.2)", record("zap"))
    assert [(who.name, verb.name) for who, verb in plugins.verbs()] == [
        ("acme", "acme"),
        ("acme", "zap"),
        ("other", "other"),
    ]
    assert "acme_never_there" not in sys.modules


def test_a_verb_that_nobody_offers_is_none_and_no_error() -> None:
    assert find_verb("acme", load(candidate("other"))) is None


def test_two_plugins_that_claim_one_verb_are_in_conflict_and_using_it_names_both() -> None:
    plugins = load(candidate("one", record("acme")), candidate("two", record("acme")))
    assert info(plugins, "one").status is PluginStatus.CONFLICT
    assert info(plugins, "one").reason == 'The verb name "acme" is also claimed by two (omnigraph-two 1.2).'
    assert [verb.name for verb in info(plugins, "two").verbs] == ["acme"]
    with pytest.raises(PluginError, match="Several plugins claim") as caught:
        find_verb("acme", plugins)
    assert caught.value.plugins == ("one (omnigraph-one 1.2)", "two (omnigraph-two 1.2)")
    assert "OMNIGRAPH_DISABLE_PLUGINS" in str(caught.value.help)


def test_the_verb_of_a_broken_plugin_is_told_with_the_reason_and_the_others_work() -> None:
    plugins = load(candidate("acme", error=ImportError("no acme_sdk")), candidate("good"))
    assert find_verb("good", plugins) is not None
    with pytest.raises(PluginError, match=r"acme \(omnigraph-acme 1.2\).*ImportError: no acme_sdk") as caught:
        find_verb("acme", plugins)
    assert isinstance(caught.value.__cause__, ImportError)


def test_the_verb_of_a_disabled_plugin_is_told_to_be_disabled() -> None:
    with pytest.raises(PluginError, match="is disabled") as caught:
        find_verb("acme", load(candidate("acme"), disabled="acme"))
    assert "Take it out of OMNIGRAPH_DISABLE_PLUGINS" in str(caught.value.help)


def test_a_hook_that_yields_something_else_than_a_record_is_refused() -> None:
    verdict = info(load(candidate("acme", "acme"), candidate("good")), "acme")
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == "TypeError: omnigraph_cli_verbs yielded a str, not a CliVerb"


def test_a_verb_for_another_version_of_the_interface_is_refused_by_name() -> None:
    verdict = info(load(candidate("acme", record(spi_version=7))), "acme")
    assert verdict.reason == (
        'Its verb "acme" was written for command-line interface 7; this omnigraph-core has 1. '
        "Upgrade omnigraph-acme or omnigraph-core."
    )


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"name": "Acme"}, "lower-case"),
        ({"name": "-a"}, "lower-case"),
        ({"name": "a b"}, "lower-case"),
        ({"command": "acme"}, "module:attribute"),
        ({"command": "acme:a.b"}, "module:attribute"),
        ({"help": " "}, "one line"),
        ({"help": "Two\nlines."}, "one line"),
    ],
)
def test_a_record_that_is_declared_wrongly_is_refused_with_the_reason(facts: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        record(**facts)


def test_a_record_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(record())) == record()


def test_a_command_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    home = types.ModuleType("acme_commands")
    home.acme = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme_commands", home)
    found = find_verb("acme", load(candidate("acme", record(command="acme_commands:acme"))))
    assert found is not None
    assert import_command(*found) is home.acme


@pytest.mark.parametrize("command", ["acme_never_there:acme", "json:no_such_command"])
def test_a_command_that_cannot_be_imported_names_its_plugin_and_the_next_move(command: str) -> None:
    found = find_verb("acme", load(candidate("acme", record(command=command))))
    assert found is not None
    with pytest.raises(PluginError, match='The verb "acme" of acme') as caught:
        import_command(*found)
    assert caught.value.plugins == ("acme (omnigraph-acme 1.2)",)
    assert "pip install --force-reinstall omnigraph-acme" in str(caught.value.help)
