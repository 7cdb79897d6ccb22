"""``Settings``: what the environment tells, read at the moment of asking."""

from __future__ import annotations

import dataclasses

import pytest

from omnigraph.config import DISABLE_PLUGINS, Settings


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("s3", {"s3"}),
        ("s3,local", {"s3", "local"}),
        (" s3 ,\tlocal , ", {"s3", "local"}),
        (",,", set()),
        ("s3,s3", {"s3"}),
        ("*", {"*"}),
    ],
)
def test_disabled_plugins_are_the_names_between_the_commas(text: str, names: set[str]) -> None:
    assert Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": text}).disabled_plugins == names


def test_without_the_variable_nothing_is_disabled() -> None:
    assert Settings.from_environment({}) == Settings(disabled_plugins=frozenset())


def test_the_environment_of_the_process_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DISABLE_PLUGINS, "one")
    assert Settings.from_environment().disabled_plugins == {"one"}
    monkeypatch.setenv(DISABLE_PLUGINS, "two")
    assert Settings.from_environment().disabled_plugins == {"two"}
    monkeypatch.delenv(DISABLE_PLUGINS)
    assert Settings.from_environment().disabled_plugins == frozenset()


def test_a_given_environment_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DISABLE_PLUGINS, "one")
    assert Settings.from_environment({}).disabled_plugins == frozenset()


def test_settings_do_not_change_after_they_were_read() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().disabled_plugins = frozenset({"s3"})  # type: ignore[misc]
