"""``Settings``: what the environment tells, read at the moment of asking."""

from __future__ import annotations

import dataclasses

import pytest

from omnigraph.config import DISABLE_PLUGINS, Settings
from omnigraph.errors import InvalidInputError


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMNIGRAPH_TRAVERSAL_MODE", "fast"),
        ("OMNIGRAPH_SCAN_MODE", "disk"),
        ("OMNIGRAPH_CACHE_BYTES", "-1"),
        ("OMNIGRAPH_CACHE_BYTES", "1 GiB"),
        ("OMNIGRAPH_METADATA_CACHE_BYTES", "-1"),
        ("OMNIGRAPH_INDEX_CACHE_BYTES", "32 MiB"),
        ("OMNIGRAPH_QUERY_MAX_ROWS", "many"),
        ("OMNIGRAPH_QUERY_MAX_BYTES", "1.5"),
        ("OMNIGRAPH_QUERY_MAX_FRONTIER", "²"),
        ("OMNIGRAPH_QUERY_DEADLINE", "soon"),
        ("OMNIGRAPH_QUERY_DEADLINE", "-1"),
        ("OMNIGRAPH_QUERY_DEADLINE", "nan"),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_the_name_of_its_variable(name: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        Settings.from_environment({name: value})


def test_modes_and_bounds_are_what_the_variables_say() -> None:
    settings = Settings.from_environment(
        {
            "OMNIGRAPH_TRAVERSAL_MODE": "indexed",
            "OMNIGRAPH_SCAN_MODE": "stored",
            "OMNIGRAPH_CACHE_BYTES": "0",
            "OMNIGRAPH_METADATA_CACHE_BYTES": "7",
            "OMNIGRAPH_INDEX_CACHE_BYTES": "8",
            "OMNIGRAPH_TAIL_MAINTENANCE": "off",
            "OMNIGRAPH_WRITE_DEADLINE": "1.5",
            "OMNIGRAPH_RECOVERY_PATIENCE": "0.5",
            "OMNIGRAPH_MAX_HELD_BYTES": "6",
            "OMNIGRAPH_QUERY_DEADLINE": "2.5",
            "OMNIGRAPH_QUERY_MAX_ROWS": "3",
            "OMNIGRAPH_QUERY_MAX_BYTES": "4",
            "OMNIGRAPH_QUERY_MAX_FRONTIER": "5",
        }
    )
    assert dataclasses.asdict(settings) == {
        "disabled_plugins": frozenset(),
        "traversal_mode": "indexed",
        "scan_mode": "stored",
        "cache_bytes": 0,
        "metadata_cache_bytes": 7,
        "index_cache_bytes": 8,
        "folds_tails": False,
        "write_deadline": 1.5,
        "recovery_patience": 0.5,
        "max_held_bytes": 6,
        "query_deadline": 2.5,
        "query_max_rows": 3,
        "query_max_bytes": 4,
        "query_max_frontier": 5,
    }
